"""What comes out: a table for people, a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table

from bench.machine import document_of
from bench.operators.results import Result, Row, Times
from bench.peers.ragged import OWN, find
from bench.report import as_ms

SCHEMA = 2
_TO_THE_LEFT = ("operator", "shape", "peer")


def document(result: Result, peers: Sequence[str]) -> dict[str, object]:
    """Return a run as JSON has it; docs/evidence/benchmarks.md says what each field means."""
    packages = {package for peer in peers for package in find(peer).packages}
    return document_of(SCHEMA, asdict(result), packages)


def print_report(result: Result, console: Console) -> None:
    """Print the ceiling, a table of the rows, and the refused peers."""
    ceilings = result.ceilings
    console.print(f"{ceilings.workers} threads: {ceilings.gflops:.0f} GFLOP/s")
    console.print(_table(result.rows, ceilings.gflops))
    for refused in result.refused:
        shape = "" if refused.shape is None else f" {refused.shape}"
        console.print(f"not timed: {refused.peer} on {refused.operator}{shape}: {refused.why}")


def _table(rows: Sequence[Row], peak: float) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("operator", "shape", "peer", "ms", "10-90 %", "of ours", "GFLOP/s", "of peak"):
        table.add_column(heading, justify="left" if heading in _TO_THE_LEFT else "right")
    for row in rows:
        own = next((times.took.median for times in row.peers if times.peer == OWN), None)
        head = (row.operator, row.shape)
        for number, times in enumerate(row.peers, 1):
            cells = _cells(times, own, peak)
            table.add_row(*head, find(times.peer).label, *cells, end_section=number == len(row.peers))
            head = ("", "")
    return table


def _cells(times: Times, own: float | None, peak: float) -> tuple[str, ...]:
    took = times.took
    return (
        as_ms(took.median),
        f"{as_ms(took.low)}-{as_ms(took.high)}",
        "" if own is None else f"{took.median / own:.2f} x",
        "" if times.gflops is None else f"{times.gflops:.0f}",
        "" if times.gflops is None else f"{times.gflops / peak:.0%}",
    )
