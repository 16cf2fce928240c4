"""The part of docs/evidence/performance.md that tells of ragged operators, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.ceilings import Ceilings
from bench.machine import Machine, date_of
from bench.markdown import markdown_table
from bench.operators.results import Refused, Row, Settings, Times
from bench.peers.ragged import OWN, find
from bench.report import as_ms, as_ratio


@dataclass(frozen=True, slots=True)
class OperatorsDocument:
    """A run's JSON, read: docs/evidence/benchmarks.md says what each field means."""

    command: list[str]
    at: int
    machine: Machine
    settings: Settings
    ceilings: Ceilings
    rows: list[Row]
    refused: list[Refused]


def operators_part(run: OperatorsDocument) -> str:
    """Return a table for each operator, and the peers that were not timed."""
    command = f"python -m bench.ragged {' '.join(run.command[1:])}".rstrip()
    said = [
        f"Of `{command}`, {date_of(run.at)}; {run.machine.processor}, {run.settings.threads} threads,",
        f"{run.ceilings.gflops:.0f} GFLOP/s.",
        "Milliseconds, and in brackets how many times as long as ours a peer takes. *Of peak* is our share of those",
        "GFLOP/s.",
    ]
    parts = ["\n".join(["## Ragged operators", "", *said])]
    for operator in dict.fromkeys(row.operator for row in run.rows):
        rows = [row for row in run.rows if row.operator == operator]
        parts.append("\n".join([f"### {operator}", "", *_of_operator(rows, run.ceilings.gflops)]))
    if run.refused:
        parts.append("\n".join(["### Not timed", "", *(_refusal(each) for each in run.refused)]))
    return "\n\n".join(parts)


def _of_operator(rows: Sequence[Row], peak: float) -> list[str]:
    peers = list(dict.fromkeys(times.peer for row in rows for times in row.peers))
    cells = []
    for row in rows:
        own = _of(row, OWN)
        took = (_cell(_of(row, peer), own) for peer in peers)
        share = "" if own is None or own.gflops is None else f"{own.gflops / peak:.0%}"
        cells.append((row.shape, *took, share))
    return markdown_table(("shape", *(find(peer).label for peer in peers), "of peak"), cells)


def _of(row: Row, peer: str) -> Times | None:
    return next((times for times in row.peers if times.peer == peer), None)


def _cell(times: Times | None, own: Times | None) -> str:
    if times is None:
        return ""
    ratio = "" if own is None or own is times else f" ({as_ratio(times.took.median / own.took.median)})"
    return f"{as_ms(times.took.median)}{ratio}"


def _refusal(refused: Refused) -> str:
    shape = "" if refused.shape is None else f" {refused.shape}"
    last = refused.why.strip().splitlines()[-1]
    return f"- {find(refused.peer).label} was not timed on {refused.operator}{shape}: {last}"
