"""What comes out: a table for people, a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich import box
from rich.console import Console
from rich.table import Table

from bench.ceilings import Ceilings
from bench.goals import Goal, goals_of, lines_of
from bench.machine import document_of
from bench.peers import OWN, find
from bench.results import Refused, Row, Times

SCHEMA = 2
_TO_THE_LEFT = ("model", "peer")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run was asked for; `warm_up` is how many batches each peer runs right before every measurement."""

    threads: int
    rounds: int
    repeats: dict[str, int]
    warm_up: int
    trees: str
    seed: int


@dataclass(frozen=True, slots=True)
class Result:
    """A run: its settings, the highest ceilings met with in it, the rows, and the peers that are missing in some.

    Those `refused` fail or are wrong; those `absent` have no such model.
    """

    settings: Settings
    ceilings: tuple[Ceilings, ...]
    rows: list[Row]
    refused: list[Refused]
    absent: list[Refused]


def document(result: Result, peers: Sequence[str]) -> dict[str, object]:
    """Return a run as JSON has it; docs/evidence/benchmarks.md says what each field means."""
    packages = {package for peer in peers for package in find(peer).packages}
    return document_of(SCHEMA, asdict(result), packages)


def print_report(result: Result, console: Console) -> None:
    """Print the ceilings, a table of the rows, and the refused peers."""
    for ceilings in result.ceilings:
        reads = ", ".join(f"{each.cache} {each.gbs:.0f}" for each in ceilings.bandwidths)
        console.print(f"{ceilings.workers} threads: {ceilings.gflops:.0f} GFLOP/s; read GB/s: {reads}")
    console.print(_table(result.rows))
    goals = goals_of(result.rows)
    if goals:
        console.print(_goals(goals))
    for line in lines_of(goals):
        console.print(line)
    for refused in result.refused:
        size = "" if refused.hidden is None else f" {refused.hidden}"
        console.print(f"not timed: {refused.peer} on {refused.workload}{size}: {refused.why}")
    for peer, why in dict.fromkeys((each.peer, each.why) for each in result.absent):
        workloads = {each.workload: None for each in result.absent if (each.peer, each.why) == (peer, why)}
        console.print(f"not there: {peer} on {', '.join(workloads)}: {why}")


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    headings = (
        "model",
        "hidden",
        "batch",
        "peer",
        "ms",
        "10-90 %",
        "of Cortex",
        "from arrays, ms",
        "kernel, ms",
    )
    for heading in (*headings, "of roofline"):
        table.add_column(heading, justify="left" if heading in _TO_THE_LEFT else "right")
    for row in rows:
        own = next((times.end_to_end.median for times in row.peers if times.peer == OWN), None)
        head = (row.workload, str(row.hidden), str(row.batch))
        for times in row.peers:
            table.add_row(*head, find(times.peer).label, *_cells(times, own))
            head = ("", "", "")
        table.add_row(*head, "roofline", "", "", "", "", as_ms(row.roofline), "", end_section=True)
    return table


def _goals(goals: Sequence[Goal]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in (
        "model",
        "hidden",
        "batch",
        "of roofline",
        "wanted",
        "ms",
        "bound",
        "met",
        "C++ by hand",
        "best peer",
    ):
        table.add_column(heading, justify="left" if heading in _TO_THE_LEFT else "right")
    for goal in goals:
        row = goal.row
        table.add_row(
            row.workload,
            str(row.hidden),
            str(row.batch),
            f"{goal.share:.0%}",
            f"{goal.wanted_share:.0%}",
            as_ms(goal.end_to_end),
            as_ms(goal.bound),
            "yes" if goal.end_to_end <= goal.bound else "no",
            as_ratio(goal.by_hand),
            as_ratio(goal.best),
        )
    return table


def _cells(times: Times, own: float | None) -> tuple[str, ...]:
    took, kernel = times.end_to_end, times.kernel
    return (
        as_ms(took.median),
        f"{as_ms(took.low)}-{as_ms(took.high)}",
        "" if own is None else f"{took.median / own:.1f} x",
        "" if times.arrays is None else as_ms(times.arrays.median),
        "" if kernel is None else as_ms(kernel.median),
        "" if times.share is None else f"{times.share:.0%}",
    )


def as_ms(microseconds: float) -> str:
    """Return three digits of milliseconds or so."""
    milliseconds = microseconds / 1000
    return f"{milliseconds:.3f}" if milliseconds < 1 else f"{milliseconds:.2f}"


def as_ratio(ratio: float | None) -> str:
    """Return how many times, or nothing where that is not known."""
    return "" if ratio is None else f"{ratio:.2f} x"
