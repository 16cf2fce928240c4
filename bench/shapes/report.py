"""What comes out: goals and tables for people, a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table

from bench.machine import document_of
from bench.peers.shapes import find
from bench.shapes.goals import goals_of
from bench.shapes.results import ShapeRow, ShapesResult

SCHEMA = 1


def document(result: ShapesResult, peers: Sequence[str]) -> dict[str, object]:
    """Return a run as JSON has it; docs/evidence/benchmarks.md says what each field means."""
    packages = {package for peer in peers for package in find(peer).packages}
    return document_of(SCHEMA, asdict(result), packages)


def print_report(result: ShapesResult, console: Console) -> None:
    """Print the ceilings, GFLOP/s of each shape and peer, the goals, and what was refused."""
    for ceilings in result.ceilings:
        console.print(f"{ceilings.workers} threads: {ceilings.gflops:.0f} GFLOP/s")
    peaks = {each.workers: each.gflops for each in result.ceilings}
    for key in dict.fromkeys((row.workload, row.threads) for row in result.rows):
        rows = [row for row in result.rows if (row.workload, row.threads) == key]
        console.print(_table(f"{key[0]}, {key[1]} threads", rows, peaks[key[1]]))
    for goal in goals_of(result):
        console.print(goal)
    for refused in result.refused:
        console.print(f"not timed: {refused.peer} on {refused.workload}: {refused.why}")


def _table(title: str, rows: Sequence[ShapeRow], peak: float) -> Table:
    peers = list(dict.fromkeys(each.peer for row in rows for each in row.peers))
    table = Table(
        title=title, box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), title_justify="left"
    )
    table.add_column("% of peak")
    for peer in peers:
        table.add_column(find(peer).label, justify="right")
    for row in rows:
        took = {each.peer: each.took.median for each in row.peers}
        cells = (f"{row.flops / took[p] / peak / 10:.1f}" if p in took else "" for p in peers)
        table.add_row(row.label, *cells)
    return table
