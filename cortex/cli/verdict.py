"""What the demo says of the models it has measured: a table, JSON, and a sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from cortex.cli.check import BOUND
from cortex.cli.measure import Batch, Report
from cortex.cli.report import print_table
from cortex.compiler import Spread

_HEADINGS = (
    "model",
    "hidden",
    "trees",
    "nodes",
    "batches",
    "linearize\nus",
    "kernel\nus",
    "latency\nus",
    "10 to 90 %\nof the runs",
    "largest\nerror",
)


def print_table_of(reports: Sequence[Report]) -> None:
    """Print a row for each model and batch."""
    print_table(_HEADINGS, (row for report in reports for row in _rows(report)), text=("model",))


def sentence(reports: Sequence[Report]) -> str:
    """Say whether the results are right, in words."""
    return "\n".join(_sentence(report) for report in reports)


def as_json(reports: Sequence[Report]) -> dict[str, object]:
    """Return the same for a program."""
    return {
        "models": [_model(report) for report in reports],
        "bound": BOUND,
        "right": all(report.right for report in reports),
        "verdict": sentence(reports),
    }


def _rows(report: Report) -> Iterator[list[str]]:
    for batch in report.batches:
        profile = batch.profile
        total = profile.total_us
        yield [
            report.name,
            str(report.hidden),
            f"{profile.structures:,}",
            f"{profile.nodes:,}",
            f"{profile.batches:,}",
            _microseconds(profile.linearize_us.median),
            _microseconds(profile.kernel_us.median),
            _microseconds(total.median),
            f"{_microseconds(total.low)} to {_microseconds(total.high)}",
            f"{batch.agreement.largest:.1e}",
        ]


def _microseconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _sentence(report: Report) -> str:
    if report.refused is not None:
        return f"{report.name} was not run: {report.refused.what}."
    whole = report.batches[-1]
    trees = f"{whole.profile.structures:,} {'tree' if whole.profile.structures == 1 else 'trees'}"
    largest = max(batch.agreement.largest for batch in report.batches)
    if report.right:
        return (
            f"{report.name} is right: over {trees}, every root and every node below agrees with the recursion "
            f"in float64 (largest error {largest:.1e}, bound {BOUND:.0e})."
        )
    off = next(batch for batch in report.batches if batch.agreement.wrong)
    first = off.agreement.wrong[0]
    count = len({wrong.structure for wrong in off.agreement.wrong})
    return (
        f"{report.name} IS WRONG: in a batch of {off.profile.structures:,}, {count:,} trees are off; the first is "
        f"tree {first.structure + 1:,}, where the error of '{first.output}' is {first.error:.1e} (bound {BOUND:.0e})."
    )


def _model(report: Report) -> dict[str, object]:
    return {
        "model": report.name,
        "hidden": report.hidden,
        "compile_seconds": report.compile_seconds,
        "refused": None if report.refused is None else str(report.refused),
        "batches": [_batch(batch) for batch in report.batches],
    }


def _batch(batch: Batch) -> dict[str, object]:
    profile = batch.profile
    return {
        "trees": profile.structures,
        "nodes": profile.nodes,
        "batches": profile.batches,
        "linearize_us": _spread(profile.linearize_us),
        "prelude_us": _spread(profile.prelude_us),
        "kernel_us": _spread(profile.kernel_us),
        "latency_us": _spread(profile.total_us),
        "largest_error": batch.agreement.largest,
        "wrong": [dataclasses.asdict(wrong) for wrong in batch.agreement.wrong],
    }


def _spread(spread: Spread) -> dict[str, float]:
    return dataclasses.asdict(spread)
