"""Ragged operators against other libraries: same weights, inputs, lengths and threads; answers compared first.

    python -m bench.ragged [--operators NAME,NAME] [--sets NAME,NAME] [--batches N,N] [--widths N,N]
        [--peers NAME,NAME] [--json FILE] [--plot FILE]

Each peer runs in a process of its own and lays out its inputs as it likes, untimed. Every batch that is timed is
first compared with the operator padded, in float64; a peer that is wrong is not timed, and the command ends with an
error. Peers take turns batch by batch. docs/evidence/benchmarks.md says what each number means.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from rich.console import Console

from bench.ceilings import measure_ceilings
from bench.command import add_results, check_names, check_peers, names, numbers, page, write_json
from bench.lengths import ALL_SETS, LENGTH_SETS
from bench.operators.cases import SEED, Case, Extents, make_cases
from bench.operators.measure import Pace, measure_case
from bench.operators.problems import Operator, Sizes, sizes_of
from bench.operators.process import RaggedProcess
from bench.operators.report import document, print_report
from bench.operators.results import Refused, Result, Row, Settings
from bench.peers.ragged import RAGGED_PEERS, find
from bench.process import PeerFailed
from ragged.runtime.cores import usable_cores

_WIDTH = 130


@dataclass(frozen=True, slots=True)
class Options:
    """The command's options, read."""

    operators: tuple[Operator, ...]
    peers: tuple[str, ...]
    extents: Extents
    threads: int
    pace: Pace
    quick: bool


def run(options: Options, console: Console) -> Result:
    """Measure every case, one after another."""
    ceilings = measure_ceilings(options.threads, runs=2 if options.quick else 12)
    rows: list[Row] = []
    with ExitStack() as stack:
        peers, refused = _start(stack, options)
        for operator in options.operators:
            having = [peer for peer, operators in peers if operator in operators]
            for case in make_cases(operator, options.extents, options.threads):
                row, wrong = _one(case, having, options.pace, console)
                rows.append(row)
                refused += wrong
    extents = options.extents
    settings = Settings(
        options.threads, extents.batches, extents.layers, extents.rounds, options.pace.pause, SEED
    )
    return Result(settings, ceilings, rows, refused)


def _one(
    case: Case, peers: Sequence[RaggedProcess], pace: Pace, console: Console
) -> tuple[Row, list[Refused]]:
    name = f"{case.problem.operator.value} {case.shape}"
    with console.status("") as status:
        return measure_case(case, peers, pace, lambda text: status.update(f"{name}: {text}"))


def _start(
    stack: ExitStack, options: Options
) -> tuple[list[tuple[RaggedProcess, frozenset[Operator]]], list[Refused]]:
    """Start all peers, and ask for their operators; one that cannot be imported is refused."""
    started = [stack.enter_context(RaggedProcess(name, options.threads)) for name in options.peers]
    peers, refused = [], []
    for peer in started:
        try:
            peer.wait()
            peers.append((peer, peer.operators()))
        except PeerFailed as failure:
            refused.append(Refused(peer.name, "everything", None, str(failure)))
    return peers, refused


def parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, Options]:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench.ragged", description=(__doc__ or "").partition("\n")[0])
    operators = [operator.value for operator in Operator]
    parser.add_argument("--operators", type=names, default=operators, help=", ".join(operators))
    parser.add_argument("--sets", type=names, default=list(LENGTH_SETS), help=", ".join(ALL_SETS))
    parser.add_argument(
        "--peers", type=names, default=list(RAGGED_PEERS), help=f"{', '.join(RAGGED_PEERS)}, or modules"
    )
    parser.add_argument("--batches", type=numbers, help="sequences in a batch: 32,64,128")
    parser.add_argument("--widths", type=numbers, help="of the rows of sequences: 512,300")
    parser.add_argument("--rounds", type=int, help="batches of sequences that are timed")
    parser.add_argument("--products", type=int, help="of vgemm")
    parser.add_argument("--triangles", type=numbers, help="sides of triangles, by as many columns: 512,1024")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for every peer")
    parser.add_argument(
        "--seconds", type=float, help="to repeat each batch in, at least 3 and at most 15 times"
    )
    add_results(parser)
    given = parser.parse_args(arguments)
    check_names(parser, "operator", given.operators, operators)
    check_names(parser, "length set", given.sets, ALL_SETS)
    check_peers(parser, given.peers, find)
    return given, _options(given)


def _options(given: argparse.Namespace) -> Options:
    quick = given.quick
    narrow = ((48, 8),) if quick else tuple((n, m) for n in (1024, 4096) for m in (16, 48))
    extents = Extents(
        tuple(given.sets),
        tuple(given.batches or ([4] if quick else [32])),
        given.rounds or (2 if quick else 3),
        given.products or (3 if quick else 64),
        tuple(given.triangles or ([48] if quick else [512, 1024, 2048, 4096])),
        tuple(map(sizes_of, given.widths)) if given.widths else (Sizes(32, 4, 48) if quick else Sizes(),),
        8 if quick else 128,
        () if given.triangles else narrow,
    )
    pace = Pace(0.001, 2, 2, 0.01) if quick else Pace()
    if given.seconds is not None:
        pace = Pace(given.seconds)
    operators = tuple(Operator(name) for name in given.operators)
    return Options(operators, tuple(given.peers), extents, given.threads, pace, quick)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if a peer was refused."""
    given, options = parse(sys.argv[1:] if arguments is None else arguments)
    console = page(_WIDTH)
    result = run(options, console)
    print_report(result, console)
    if given.json is not None:
        write_json(document(result, options.peers), given.json)
    if given.plot is not None:
        # Drawing is an extra: without a picture matplotlib is not needed.
        from bench.operators.plots import plot

        plot(result.rows, result.ceilings.gflops, given.plot)
    return 1 if result.refused else 0


if __name__ == "__main__":
    sys.exit(main())
