"""Tensor Comprehensions against other libraries: same arrays and threads; answers compared first.

    python -m bench.tc [--functions NAME ...] [--peers NAME ...] [--quick] [--json FILE] [--plot FILE] [--page FILE]

Each peer runs in a process of its own. Every result that is timed is first compared with NumPy in float64; a peer that
is wrong is not timed. Peers take turns. docs/evidence/benchmarks.md says what each number means; `--page` writes
docs/evidence/tensor_comprehensions.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.ceilings import measure_ceilings
from bench.command import add_results, check_names, check_peers, names, page, write_json
from bench.peers.tc import EVERY, TC_PEERS, find
from bench.process import PeerFailed
from bench.shapes.results import ShapesRefused
from bench.tc.measure import Measurements, Pace, TcProcess
from bench.tc.report import document, print_report
from bench.tc.results import TcResult, TcSettings
from bench.tc.workloads import RANDOM, Workload, gradients, random_products, tiny_workloads, workloads
from ragged.runtime.cores import usable_cores

_WIDTH = 130
_RANDOM_PRODUCTS = 30


@dataclass(frozen=True, slots=True)
class Options:
    """The command's options, read."""

    workloads: tuple[Workload, ...]
    peers: tuple[str, ...]
    threads: int
    pace: Pace
    quick: bool


def run(options: Options, console: Console) -> TcResult:
    """Measure row by row."""
    ceilings = measure_ceilings(options.threads, runs=2 if options.quick else 12)
    with console.status("") as status, ExitStack() as stack:
        begin = time.monotonic()

        def say(text: str, *, lasting: bool = False) -> None:
            status.update(text)
            if lasting:
                console.print(f"{time.monotonic() - begin:5.0f} s: {text}")

        found = Measurements(options.pace, ceilings, say)
        peers = []
        for peer in [stack.enter_context(TcProcess(name, options.threads)) for name in options.peers]:
            try:
                peer.wait()
                peers.append(peer)
            except PeerFailed as failure:
                found.refused.append(ShapesRefused(peer.name, "everything", str(failure)))
        for workload in options.workloads:
            found.measure(workload, peers)
    pace = options.pace
    settings = TcSettings(options.threads, pace.calls, pace.seconds, pace.pause, options.quick)
    return TcResult(settings, ceilings, found.rows, found.refused)


def parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, Options]:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="bench.tc", description=(__doc__ or "").partition("\n")[0])
    every = [*workloads(), *gradients()]
    known = [*dict.fromkeys(each.function for each in every), RANDOM]
    parser.add_argument("--functions", type=names, default=known, help=", ".join(known))
    parser.add_argument("--peers", type=names, default=list(TC_PEERS), help=f"{', '.join(EVERY)}, or modules")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for every peer")
    parser.add_argument("--calls", type=int, default=1000, help="of each peer on each row, at most")
    parser.add_argument("--seconds", type=float, default=2.0, help="for them, after which there are fewer")
    parser.add_argument("--page", type=Path, help="where to write the page, Markdown")
    add_results(parser)
    given = parser.parse_args(arguments)
    check_names(parser, "function", given.functions, known)
    check_peers(parser, given.peers, find)
    rows = tiny_workloads() if given.quick else every
    chosen = [each for each in rows if each.function in given.functions]
    if RANDOM in given.functions:
        chosen += random_products(2, 64) if given.quick else random_products(_RANDOM_PRODUCTS)
    pace = Pace(8, 0.02, 0.01) if given.quick else Pace(given.calls, given.seconds)
    return given, Options(tuple(chosen), tuple(given.peers), given.threads, pace, given.quick)


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
        from bench.tc.plots import plot

        plot(result, given.plot)
    if given.page is not None:
        from bench.tc.page import page_of

        picture = None if given.plot is None else os.path.relpath(given.plot, given.page.parent)
        given.page.write_text(page_of(told, result, picture), encoding="utf-8")
    return 1 if result.refused else 0


if __name__ == "__main__":
    sys.exit(main())
