"""What the demo says of the models it has measured: a table, JSON, and a sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from cortex.cli.measure import Batch, Report
from cortex.cli.report import print_table, print_text
from cortex.compiler import Spread
from cortex.compiler.agreement import BOUND

_HEADINGS = (
    "model",
    "trees",
    "nodes",
    "levels",
    "linearize",
    "kernel",
    "latency",
    "spread",
    "error",
)
_LEGEND = (
    "A level is nodes of equal height, as many as a cache has room for. Times are medians in microseconds; latency is "
    "from Python objects to the result, and spread its 10th and 90th percentile beside the median. Error is the "
    "largest of all nodes."
)


def print_table_of(reports: Sequence[Report]) -> None:
    """Print a row for each model and batch, and what the columns mean."""
    print_table(_HEADINGS, (row for report in reports for row in _rows(report)), text=("model",))
    print_text(f"\n{_LEGEND}")


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
            f"{profile.structures:,}",
            f"{profile.nodes:,}",
            f"{profile.levels:,}",
            _microseconds(profile.linearize_us.median),
            _microseconds(profile.kernel_us.median),
            _microseconds(total.median),
            f"{100 * total.low / total.median - 100:+.0f} {100 * total.high / total.median - 100:+.0f}%",
            f"{batch.agreement.largest:.1e}",
        ]


def _microseconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _sentence(report: Report) -> str:
    name = f"{report.name} (hidden {report.hidden})"
    if report.refused is not None:
        return f"{name} was not run: {report.refused.what}."
    if report.right:
        largest = max(batch.agreement.largest for batch in report.batches)
        trees = _trees(report.batches[-1].profile.structures)
        return (
            f"{name} is right: {trees}, every root and every node below one within {largest:.1e} of the recursion "
            f"evaluated in float64, where {BOUND:.0e} is allowed."
        )
    batch = next(batch for batch in report.batches if batch.agreement.wrong)
    first = batch.agreement.wrong[0]
    count = len({wrong.structure for wrong in batch.agreement.wrong})
    return (
        f"{name} IS WRONG: {count:,} of {_trees(batch.profile.structures)}; in tree {first.structure + 1:,}, output "
        f"'{first.output}' has an error of {first.error:.1e}, where {BOUND:.0e} is allowed."
    )


def _trees(count: int) -> str:
    return f"{count:,} {'tree' if count == 1 else 'trees'}"


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
        "levels": profile.levels,
        "linearize_us": _spread(profile.linearize_us),
        "prelude_us": _spread(profile.prelude_us),
        "kernel_us": _spread(profile.kernel_us),
        "latency_us": _spread(profile.total_us),
        "largest_error": batch.agreement.largest,
        "wrong": [dataclasses.asdict(wrong) for wrong in batch.agreement.wrong],
    }


def _spread(spread: Spread) -> dict[str, float]:
    return dataclasses.asdict(spread)
