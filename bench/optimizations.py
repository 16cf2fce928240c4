"""What each optimization of a recursive model gains, switched on one after another (CORTEX, figure 10).

    python -m bench.optimizations [--workloads NAME,NAME] [--rewritten NAME,NAME] [--batch N] [--threads N] [--rounds N]
        [--json FILE] [--quick]

The first variant runs one node after another with every loop as lowering leaves it, in one thread. Each further one has
all that those before it have. Models that are `--rewritten` are measured under the default schedule, and with their
recursion unrolled or refactored beside it (figures 10b and 10c). Answers of all variants are compared with the first
one's; then kernels are timed in turns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

import cortex
from bench.command import check_names, names, page, write_json
from bench.machine import about
from bench.models import MODELS
from bench.results import Gained
from bench.rewritings import REWRITINGS, measure_rewriting
from bench.timing import timed_in_turns
from bench.trees import read_treebank
from bench.workloads import RECURSIVE, WORKLOADS, Case, make_case
from cortex import RecursionOptions, ra
from cortex.data import sample_treebank
from cortex.ra.schedule import default_schedule
from ragged.runtime.cores import usable_cores

SCHEMA = 1
SEED = 0
_WIDTH = 110
_WORKLOADS = ("tree_fc", "tree_lstm_recursive", "tree_lstm", "mv_rnn")

_LOOPS: dict[str, Any] = {
    "share_columns": False,
    "replicate_rows": False,
    "rolling_buffers": False,
    "fuse_nests": False,
    "per_node_matrices": False,
    "reroll": False,
    "tile": (1, 1),
    "row_vectors": 1,
    "rows_per_tile": 1,
    "reduction_unroll": 1,
    "scalar_reduction_unroll": 1,
}
"""Options of a schedule that has none of the optimizations of loops."""


@dataclass(frozen=True, slots=True)
class Variant:
    """An optimization that is switched on: how the recursion is scheduled, options of loops, and whether by a team."""

    name: str
    schedule: Callable[[ra.Model], ra.Schedule]
    on: tuple[str, ...] = ()
    team: bool = False


def _one_by_one(model: ra.Model) -> ra.Schedule:
    return ra.Schedule(model)


def _batched(model: ra.Model) -> ra.Schedule:
    schedule = ra.Schedule(model)
    schedule.dynamic_batch()
    return schedule


def _specialized(model: ra.Model) -> ra.Schedule:
    return default_schedule(model, hoist_inputs=False)


def _tabulated(model: ra.Model) -> ra.Schedule:
    return default_schedule(model, table_bytes=1 << 30)


_TILES = ("tile", "row_vectors", "rows_per_tile", "reduction_unroll", "scalar_reduction_unroll")
VARIANTS = (
    Variant("one node after another", _one_by_one),
    Variant("dynamic batches", _batched),
    Variant("leaves apart", _specialized),
    Variant("inputs before the recursion", default_schedule),
    Variant("register tiles", default_schedule, _TILES),
    Variant("gates as one product", default_schedule, (*_TILES, "reroll")),
    Variant("nodes' matrices as they are read", default_schedule, (*_TILES, "reroll", "per_node_matrices")),
    Variant("a team", default_schedule, (*_TILES, "reroll", "per_node_matrices"), team=True),
    Variant(
        "columns for each core",
        default_schedule,
        (*_TILES, "reroll", "per_node_matrices", "share_columns"),
        team=True,
    ),
    Variant("all", default_schedule, tuple(_LOOPS), team=True),
    Variant("lookup tables", _tabulated, tuple(_LOOPS), team=True),
)
"""Each with what those before it have."""


def compiled(case: Case, variant: Variant, threads: int) -> cortex.RecursiveFunction:
    """Return a case's model with a variant's optimizations."""
    off = {name: value for name, value in _LOOPS.items() if name not in variant.on}
    return cortex.compile(
        variant.schedule(case.model),
        case.job.params,
        threads=threads if variant.team else 1,
        keep="roots",
        options=RecursionOptions(**off),
    )


def measure(case: Case, variants: Sequence[Variant], threads: int, rounds: int) -> list[Gained]:
    """Compile the variants, compare their answers, and time their kernels in turns."""
    (batches,) = case.batches
    functions = {variant.name: compiled(case, variant, threads) for variant in variants}
    cell = case.workload.cell
    trees = case.of(batches.timed[0])
    return timed_in_turns(cell.value, case.job.hidden, functions, trees, MODELS[cell].outputs, rounds)


def _table(rows: Sequence[Gained]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("model", "hidden", "variant"):
        table.add_column(heading)
    for heading in ("us", "10-90 %", "gain"):
        table.add_column(heading, justify="right")
    last = ("", "")
    for row in rows:
        shown = (row.workload, str(row.hidden))
        low_high = f"{row.us.low:.4g}-{row.us.high:.4g}"
        here = ("", "") if shown == last else shown
        table.add_row(*here, row.variant, f"{row.us.median:.4g}", low_high, f"{row.gain:.2f} x")
        last = shown
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        prog="bench.optimizations", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--trees", type=Path, default=sample_treebank(), help="bracketed binary trees")
    parser.add_argument("--workloads", type=names, default=list(_WORKLOADS), help=", ".join(RECURSIVE))
    parser.add_argument("--rewritten", type=names, default=list(REWRITINGS), help=", ".join(REWRITINGS))
    parser.add_argument("--batch", type=int, default=10, help="structures in the batch")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="of a team")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--quick", action="store_true", help="tiny: to see that all works, not how fast")
    given = parser.parse_args(arguments)
    check_names(parser, "workload", given.workloads, WORKLOADS)
    check_names(parser, "model", given.rewritten, REWRITINGS)
    rows: list[Gained] = []
    rewritten: list[Gained] = []
    treebank = read_treebank(given.trees)
    for name in given.workloads:
        hidden = 16 if given.quick else WORKLOADS[name].hidden[0]
        case = make_case(
            WORKLOADS[name], hidden, treebank, [given.batch], rounds=1, threads=given.threads, seed=SEED
        )
        rows += measure(case, VARIANTS, given.threads, given.rounds)
    for name in given.rewritten:
        rewritten += measure_rewriting(
            name,
            16 if given.quick else 256,
            treebank[: given.batch],
            threads=given.threads,
            rounds=given.rounds,
            seed=SEED,
        )
    for table in filter(None, (rows, rewritten)):
        page(_WIDTH).print(_table(table))
    if given.json is not None:
        settings = {
            "threads": given.threads,
            "trees": given.trees.name,
            "rounds": given.rounds,
            "seed": SEED,
        }
        tables = {
            name: [asdict(row) for row in table] for name, table in (("rows", rows), ("rewritten", rewritten))
        }
        found = {"schema": SCHEMA, **about(), "settings": settings, **tables}
        write_json(found, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
