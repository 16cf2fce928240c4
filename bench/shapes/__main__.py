"""Dynamic shapes against other libraries: same weights, inputs, shapes and threads; answers compared first.

    python -m bench.shapes [--workloads NAME ...] [--peers NAME ...] [--quick] [--json FILE] [--plot FILE] [--page FILE]

Each peer runs in a process of its own, as its documentation says. Every result that is timed is first compared with
NumPy in float64; a peer that is wrong is not timed. Peers take turns shape by shape. docs/evidence/benchmarks.md says
what each number means; `--page` writes docs/evidence/dynamic_shapes.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.ceilings import measure_ceilings
from bench.command import add_results, check_names, check_peers, names, page, write_json
from bench.peers.shapes import BEST, OWN, OWN_STATIC, REMAINDERS, SHAPES_PEERS, SMALL, STRONGEST, find
from bench.process import PeerFailed
from bench.shapes.measure import Measurements, Pace
from bench.shapes.process import ShapesProcess
from bench.shapes.report import document, print_report
from bench.shapes.results import ShapesRefused, ShapesResult, ShapesSettings
from bench.shapes.workloads import (
    BERT,
    Extent,
    dense,
    quick_extent,
    remainders,
    served,
    stream,
    tiny_extent,
    workloads,
)
from ragged.runtime.cores import usable_cores

_WIDTH = 130
EXTRA = ("predictions", "best", "remainders", "figures", "tuning", "stream", "bits", "memory")
"""What is measured besides times of shapes."""


@dataclass(frozen=True, slots=True)
class Options:
    """The command's options, read."""

    workloads: tuple[str, ...]
    peers: tuple[str, ...]
    extent: Extent
    threads: int
    pace: Pace
    quick: bool


def run(options: Options, console: Console) -> ShapesResult:
    """Measure on all threads, then dense products on one, then what goes beyond times."""
    threads = sorted({1, options.threads})
    ceilings = [measure_ceilings(count, runs=2 if options.quick else 12) for count in threads]
    with console.status("") as status:
        begin = time.monotonic()

        def say(text: str, *, lasting: bool = False) -> None:
            """Show what is going on: in the status line, and what lasts as a line with the seconds so far."""
            status.update(text)
            if lasting:
                console.print(f"{time.monotonic() - begin:5.0f} s: {text}")

        found = Measurements(options.pace, say)
        with _started(options.peers, options.threads, found) as peers:
            _measure(options, found, peers)
        _measure_tiles(options, found)
        for count in threads[:-1]:
            fewer = [name for name in options.peers if name in (OWN, *STRONGEST)]
            with _started(fewer, count, found) as peers:
                _measure_dense(options, found, peers, count)
    settings = ShapesSettings(options.threads, options.pace.seconds, options.pace.pause, options.quick)
    return ShapesResult(
        settings,
        ceilings,
        found.rows,
        found.served,
        found.fresh,
        found.bits,
        found.grown,
        found.tuned,
        found.refused,
        found.figures,
    )


def _measure(options: Options, found: Measurements, peers: Sequence[ShapesProcess]) -> None:
    """Measure all that is asked for on all threads."""
    extent, threads = options.extent, options.threads
    for name, problem in workloads(extent, threads).items():
        if name in options.workloads:
            having = peers if name == "hidden" else [peer for peer in peers if peer.name != OWN_STATIC]
            found.sweep(problem, having)
    one_for_all = [peer for peer in peers if peer.name != OWN_STATIC]
    if "predictions" in options.workloads:
        own = [peer for peer in peers if peer.name == OWN]
        for i, h in BERT:
            found.sweep(dense(extent.lengths, i, h, threads, f"dense {i} x {h}"), own)
    if "stream" in options.workloads:
        found.stream(stream(extent, threads), one_for_all)
    if "bits" in options.workloads:
        found.rows_of_bits(dense(extent.lengths, 768, 2304, threads), one_for_all)
    if "memory" in options.workloads:
        found.memory(served(extent, threads), one_for_all)


def _measure_tiles(options: Options, found: Measurements) -> None:
    """Measure our function beside its stated tiles."""
    extent, threads = options.extent, options.threads
    if "best" in options.workloads:
        with _started((OWN, SMALL, BEST), threads, found) as peers:
            few = [length for length in (1, 2, *extent.batched) if length in extent.lengths]
            found.sweep(dense(few, 768, 2304, threads, "dense, every tile"), peers)
    if "remainders" in options.workloads:
        with _started(tuple(REMAINDERS), threads, found) as peers:
            found.sweep(remainders(extent, threads), peers)
    if "figures" in options.workloads:
        found.paper_figures(extent.lengths, threads)
    if "bits" in options.workloads and OWN in options.peers:
        forced = [name for name in REMAINDERS if name != "padded"]
        with _started(forced, threads, found) as peers:
            found.rows_of_bits(dense(extent.lengths, 768, 2304, threads), peers)
    if "tuning" in options.workloads:
        found.tuning(dense(extent.lengths, 768, 2304, threads), extent.tuning_seconds)


def _measure_dense(
    options: Options, found: Measurements, peers: Sequence[ShapesProcess], threads: int
) -> None:
    problem = dense(options.extent.lengths, 768, 2304, threads)
    if "dense" in options.workloads:
        found.sweep(problem, peers)
    if "bits" in options.workloads:
        found.rows_of_bits(problem, [peer for peer in peers if peer.name == OWN])


@contextmanager
def _started(names: Sequence[str], threads: int, found: Measurements) -> Iterator[list[ShapesProcess]]:
    """Start peers; one that cannot be imported is refused."""
    with ExitStack() as stack:
        ready = []
        for peer in [stack.enter_context(ShapesProcess(name, threads)) for name in names]:
            try:
                peer.wait()
                ready.append(peer)
            except PeerFailed as failure:
                found.refused.append(ShapesRefused(peer.name, "everything", str(failure)))
        yield ready


def parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, Options]:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench.shapes", description=(__doc__ or "").partition("\n")[0])
    known = [*workloads(tiny_extent(), 1), *EXTRA]
    parser.add_argument("--workloads", type=names, default=known, help=", ".join(known))
    parser.add_argument(
        "--peers", type=names, default=list(SHAPES_PEERS), help=f"{', '.join(SHAPES_PEERS)}, or modules"
    )
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for every peer")
    parser.add_argument("--page", type=Path, help="where to write the page, Markdown")
    parser.add_argument(
        "--metaschedule", type=Path, help="JSON of bench.shapes.metaschedule, for the page to show"
    )
    add_results(parser)
    given = parser.parse_args(arguments)
    check_names(parser, "workload", given.workloads, known)
    check_peers(parser, given.peers, find)
    return given, Options(
        tuple(given.workloads),
        tuple(given.peers),
        quick_extent() if given.quick else Extent(),
        given.threads,
        Pace(0.01, 2, 5, 0.01) if given.quick else Pace(),
        given.quick,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if a peer was refused."""
    given, options = parse(sys.argv[1:] if arguments is None else arguments)
    console = page(_WIDTH)
    result = run(options, console)
    print_report(result, console)
    told = document(result, options.peers)
    if given.json is not None:
        write_json(told, given.json)
    if given.plot is not None:
        # Drawing is an extra: without it no matplotlib is needed.
        from bench.shapes.plots import plot

        plot(result, given.plot)
    if given.page is not None:
        from bench.shapes.page import page_of, read_searched

        picture = None if given.plot is None else os.path.relpath(given.plot, given.page.parent)
        searched = [] if given.metaschedule is None else read_searched(given.metaschedule)
        given.page.write_text(page_of(told, result, picture, searched), encoding="utf-8")
    return 1 if result.refused else 0


if __name__ == "__main__":
    sys.exit(main())
