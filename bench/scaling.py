"""What kernels should take with more threads than this machine has cores, predicted from one thread.

    python -m bench.scaling [--operators NAME,NAME] [--models NAME,NAME] [--threads N,N] [--memory N,N] [--json FILE]

A kernel is compiled for each number of threads. Its program says what each thread does between two barriers; of that,
the busiest thread's instructions count, at the rate of one thread, or the bytes that all read and write, at the rate of
the memory that all share, whichever take longer. Added are barriers and the helpers that a call is given to.
docs/evidence/benchmarks.md has the formula. Two threads are measured and compared with what is predicted of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.table import Table

from bench.ceilings import Ceilings, measure_ceilings
from bench.command import check_names, names, numbers, page, write_json
from bench.lengths import ALL_SETS
from bench.machine import about
from bench.operators.cases import Extents
from bench.operators.problems import Operator, Sizes
from bench.results import Predicted, Scaled, TeamCost, spread
from bench.scaled_kernels import MODELS, OPERATORS, SEED, Kernel, model_kernels, operator_kernels
from bench.scaling_page import scaling_cells
from bench.shares import Shares
from bench.team import barriers
from bench.trees import read_treebank
from bench.workloads import WORKLOADS
from cortex.data import sample_treebank
from ragged.machine import this_machine

SCHEMA = 1
_WIDTH = 160


def predicted_us(shares: Shares, ns: float, gbs: float, team: TeamCost, cache_bytes: float) -> float:
    """Return the microseconds of a kernel, of which one thread takes `ns` for an instruction.

    A phase takes the longer of its busiest thread and its bytes, at `gbs` GB/s for all threads; what the kernel touches
    stays in the last cache if it is no more than `cache_bytes`. A barrier is a counter that threads increment one after
    another, and a call is given to one helper after another, so both grow with the number of threads.
    """
    memory = 1 / gbs if shares.touched > cache_bytes else 0.0
    work = sum(max(each.busiest * ns, each.touched * memory) for each in shares.phases)
    meeting = (len(shares.phases) - 1) * team.barrier * shares.workers / 2
    alone = shares.workers == 1
    return (work if alone else work + meeting + team.helper * (shares.workers - 1)) / 1000


def measure_team(workers: int = 2) -> TeamCost:
    """Measure what a barrier of two threads costs, and a call of two more than one of one."""
    (_, two), (_, one) = barriers(workers), barriers(1)
    calls = [found["call"]["median"] for found in (two, one)]  # type: ignore[index]
    return TeamCost(two["barrier, ns"], max(0.0, 1000 * (calls[0] - calls[1])))  # type: ignore[arg-type]


class Predictor:
    """Predicts kernels from one thread: with memory as fast as `of_all` is here, and as many times as fast."""

    def __init__(self, team: TeamCost, one: float, of_all: float) -> None:
        self.team, self.one, self.of_all = team, one, of_all
        self.cache_bytes = this_machine().l3_bytes

    def __call__(self, shares: Shares, ns: float, times: float = 1.0) -> Predicted:
        """Predict a kernel of these shares; one thread takes `ns` for an instruction, memory is `times` as fast."""
        gbs = min(shares.workers * self.one, times * self.of_all)
        us = predicted_us(shares, ns, gbs, self.team, self.cache_bytes)
        return Predicted(shares.workers, gbs, shares.imbalance, us)

    def scaled(self, kernel: Kernel, rounds: int, threads: Sequence[int], memory: Sequence[float]) -> Scaled:
        """Measure a kernel on one thread and on two, in turns, and predict it for two and for more."""
        one, two = kernel.compile(1), kernel.compile(2)
        times = [(one.time(), two.time()) for _ in range(rounds)]
        of_one, of_two = (spread([each / 1000 for each in mine]) for mine in zip(*times, strict=True))
        ns = 1000 * of_one.median / one.shares.total
        shares = [kernel.compile(each).shares for each in threads]
        more = [self(each, ns, factor) for each in shares for factor in memory]
        return Scaled(kernel.workload, kernel.shape, of_one, of_two, self(two.shares, ns), more)


def _memory_gbs(ceilings: Ceilings) -> float:
    return ceilings.bandwidths[-1].gbs


def _table(rows: Sequence[Scaled]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    heads, cells = scaling_cells(rows)
    for place, heading in enumerate(heads):
        table.add_column(heading, justify="left" if place < 2 else "right")
    for row in cells:
        table.add_row(*row)
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, predict, print and write."""
    parser = argparse.ArgumentParser(prog="bench.scaling", description=(__doc__ or "").partition("\n")[0])
    operators = [operator.value for operator in OPERATORS]
    parser.add_argument("--operators", type=names, default=operators, help=", ".join(operators))
    parser.add_argument("--models", type=names, default=list(MODELS), help=", ".join(WORKLOADS))
    parser.add_argument("--sets", type=names, default=["race", "random"], help=", ".join(ALL_SETS))
    parser.add_argument("--threads", type=numbers, default=[8, 64], help="to predict")
    parser.add_argument("--memory", type=numbers, default=[1, 4], help="times as fast as this machine's")
    parser.add_argument("--rounds", type=int, default=9, help="calls that are timed")
    parser.add_argument("--trees", type=Path, default=sample_treebank(), help="bracketed binary trees")
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--quick", action="store_true", help="tiny: to see that all works, not how fast")
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    check_names(parser, "operator", given.operators, operators)
    check_names(parser, "workload", given.models, WORKLOADS)
    check_names(parser, "length set", given.sets, ALL_SETS)
    quick = given.quick
    extents = Extents(
        tuple(given.sets),
        (4 if quick else 32,),
        1,
        3 if quick else 64,
        (48,) if quick else (512, 1024, 2048, 4096),
        (Sizes(32, 4, 48) if quick else Sizes(),),
        8 if quick else 128,
    )
    kernels = [
        *operator_kernels([Operator(name) for name in given.operators], extents),
        *model_kernels(given.models, [16] if quick else None, read_treebank(given.trees), 3 if quick else 10),
    ]
    one, of_all = (_memory_gbs(measure_ceilings(workers, runs=2 if quick else 12)) for workers in (1, 2))
    predict = Predictor(measure_team(), one, of_all)
    rows = [predict.scaled(kernel, given.rounds, given.threads, given.memory) for kernel in kernels]
    page(_WIDTH).print(_table(rows))
    if given.json is not None:
        settings = {"rounds": given.rounds, "seed": SEED, "memory_gbs": [one, of_all]}
        found = {"team": asdict(predict.team), "rows": [asdict(row) for row in rows]}
        write_json({"schema": SCHEMA, **about(), "settings": settings, **found}, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
