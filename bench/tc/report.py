"""What comes out: a table and goals for people, a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table

from bench.machine import document_of
from bench.peers.tc import OWN, find
from bench.tc.goals import goals_of
from bench.tc.results import TcResult, TcRow, TcTimes

SCHEMA = 1
HEADS = ("row", "peer", "p50, us", "p0", "p90", "of ours", "of the floor", "compiling, s", "from cache, ms")


def document(result: TcResult, peers: Sequence[str]) -> dict[str, object]:
    """Return a run as JSON has it; docs/evidence/benchmarks.md says what each field means."""
    packages = {package for peer in peers for package in find(peer).packages}
    return document_of(SCHEMA, asdict(result), packages)


def print_report(result: TcResult, console: Console) -> None:
    """Print the rows, the goals, and what was refused."""
    memory = result.ceilings.bandwidths[-1].gbs
    console.print(
        f"{result.ceilings.workers} threads: {result.ceilings.gflops:.0f} GFLOP/s, {memory:.0f} GB/s"
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for place, head in enumerate(HEADS):
        table.add_column(head, justify="right" if place > 1 else "left")
    for row in result.rows:
        for place, times in enumerate(row.peers):
            table.add_row(row.label if place == 0 else "", *cells(row, times))
    console.print(table)
    for goal in goals_of(result):
        console.print(goal)
    for refused in result.refused:
        console.print(f"not timed: {refused.peer} on {refused.workload}: {refused.why}")


def cells(row: TcRow, times: TcTimes) -> tuple[str, ...]:
    """Return the cells of a peer on a row, under `HEADS` but for the first."""
    own = row.of(OWN)
    return (
        find(times.peer).label,
        *(f"{each:,.1f}" if each < 100 else f"{each:,.0f}" for each in (times.p50, times.p0, times.p90)),
        "" if own is None or own is times else f"{times.p50 / own.p50:.2f}",
        f"{times.p50 / row.floor:.2f}",
        f"{times.compile_seconds:.2f}",
        "" if times.cached_seconds is None else f"{1000 * times.cached_seconds:.1f}",
    )
