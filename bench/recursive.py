"""Recursive models against other libraries: same equations, weights, trees and threads; answers compared first.

    python -m bench.recursive [--trees FILE] [--workloads NAME ...] [--peers NAME ...] [--json FILE] [--plot FILE]

Each peer runs in a process of its own and is given plain Python objects. Every batch that is timed is first compared
with the recursion in float64; a peer that is wrong is not timed, and the command ends with an error. Peers take
turns batch by batch, after calls on other batches. docs/evidence/benchmarks.md says what each number means.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from bench.ceilings import Ceilings, measure_ceilings
from bench.command import add_results, check_names, check_peers, names, numbers, page, write_json
from bench.measure import Clocked, Pace, measure_case
from bench.peers import PEERS, find
from bench.process import PeerFailed, PeerProcess
from bench.report import Result, Settings, document, print_report
from bench.results import Refused
from bench.trees import Tree, read_treebank
from bench.workloads import RECURSIVE, WARM_BATCHES, WORKLOADS, make_case
from cortex.data import sample_treebank
from ragged.runtime.cores import usable_cores

SEED = 0
_WIDTH = 150


@dataclass(frozen=True, slots=True)
class Options:
    """The command's options, read."""

    trees: Path
    workloads: tuple[str, ...]
    peers: tuple[str, ...]
    hidden: tuple[int, ...] | None
    batches: tuple[int, ...]
    threads: int
    rounds: int
    pace: Pace
    quick: bool


def run(options: Options, console: Console) -> Result:
    """Measure every case, one after another."""
    treebank = read_treebank(options.trees)
    best: dict[int, Ceilings] = {}
    clocked: list[Clocked] = []
    absent: list[Refused] = []
    with ExitStack() as stack:
        peers, refused = _start(stack, options)
        for name in options.workloads:
            for hidden in options.hidden or WORKLOADS[name].hidden:
                _raise_ceilings(best, options)
                more, wrong, missing = _one(name, hidden, treebank, peers, options, console)
                clocked += more
                refused += wrong
                absent += missing
    settings = Settings(
        options.threads,
        options.rounds,
        {"under 10": options.pace.small, "from 10": options.pace.large, "from 100": options.pace.huge},
        WARM_BATCHES,
        options.trees.name,
        SEED,
    )
    rows = [each.row(best[options.threads]) for each in clocked]
    return Result(settings, tuple(best.values()), rows, refused, absent)


def _start(stack: ExitStack, options: Options) -> tuple[list[PeerProcess], list[Refused]]:
    """Start all peers, and wait for them; one that cannot be imported is refused."""
    started = [stack.enter_context(PeerProcess(name, options.threads)) for name in options.peers]
    peers, refused = [], []
    for peer in started:
        try:
            peer.wait()
            peers.append(peer)
        except PeerFailed as failure:
            refused.append(Refused(peer.name, "everything", None, str(failure)))
    return peers, refused


def _raise_ceilings(best: dict[int, Ceilings], options: Options) -> None:
    """Measure the ceilings again, and keep the highest: noise is not to make a share of them look larger."""
    if options.quick and best:
        return
    time.sleep(options.pace.pause)
    for workers in sorted({1, options.threads}):
        found = measure_ceilings(workers, runs=2 if options.quick else 12)
        best[workers] = best[workers].best(found) if workers in best else found


def _one(
    name: str,
    hidden: int,
    treebank: Sequence[Tree],
    peers: Sequence[PeerProcess],
    options: Options,
    console: Console,
) -> tuple[list[Clocked], list[Refused], list[Refused]]:
    case = make_case(
        WORKLOADS[name],
        hidden,
        treebank,
        options.batches,
        rounds=options.rounds,
        threads=options.threads,
        seed=SEED,
    )
    with console.status("") as status:
        return measure_case(case, peers, options.pace, lambda text: status.update(f"{name} {hidden}: {text}"))


def parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, Options]:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench.recursive", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--trees", type=Path, default=sample_treebank(), help="bracketed binary trees, one a line"
    )
    parser.add_argument(
        "--workloads",
        type=names,
        default=list(RECURSIVE),
        help=f"{', '.join(WORKLOADS)}; by default those over trees and DAGs",
    )
    parser.add_argument("--peers", type=names, default=list(PEERS), help=f"{', '.join(PEERS)}, or modules")
    parser.add_argument("--hidden", type=numbers, help="sizes instead of each workload's own")
    parser.add_argument("--batches", type=numbers, help="trees in a batch: 1,10,100,1000 (1,10)")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for every peer")
    parser.add_argument("--rounds", type=int, help="batches of each size that are timed")
    parser.add_argument(
        "--repeats",
        type=numbers,
        help="calls on a batch of fewer than ten trees, of fewer than a hundred, and of more",
    )
    add_results(parser)
    given = parser.parse_args(arguments)
    check_names(parser, "workload", given.workloads, WORKLOADS)
    if any(size < 1 for size in given.batches or ()):
        parser.error("a batch has one tree or more")
    check_peers(parser, given.peers, find)
    return given, _options(given)


def _options(given: argparse.Namespace) -> Options:
    quick = given.quick
    pace = Pace(2, 2, 2, pause=0.01) if quick else Pace()
    if given.repeats:
        small, large, huge = (given.repeats + given.repeats[-1:] * 2)[:3]
        pace = replace(pace, small=small, large=large, huge=huge)
    hidden = given.hidden or ([16] if quick else None)
    return Options(
        given.trees,
        tuple(given.workloads),
        tuple(given.peers),
        None if hidden is None else tuple(hidden),
        tuple(given.batches or ([1, 3] if quick else [1, 10])),
        given.threads,
        given.rounds or (2 if quick else 10),
        pace,
        quick,
    )


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
        from bench.plots import plot

        plot(result.rows, given.plot)
    return 1 if result.refused else 0


if __name__ == "__main__":
    sys.exit(main())
