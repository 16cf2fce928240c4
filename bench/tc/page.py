"""docs/evidence/tensor_comprehensions.md, written from a run alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.goals import geometric_mean
from bench.machine import date_of
from bench.markdown import markdown_table
from bench.peers.tc import OWN, OWN_FIXED, find
from bench.shapes.goals import goals_section
from bench.tc.goals import goals_of, ratio
from bench.tc.report import HEADS, cells
from bench.tc.results import TcResult
from bench.tc.workloads import RANDOM


def page_of(told: Mapping[str, Any], result: TcResult, picture: str | None = None) -> str:
    """Return the page; `told` is the run as JSON has it, `picture` the path of the plot, relative to the page."""
    sections = [
        _head(told, result),
        goals_section(goals_of(result)),
        None if picture is None else f"![time over ours, a bar for each peer]({picture})",
        _rows(result),
        _random(result),
        _refused(result),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _head(told: Mapping[str, Any], result: TcResult) -> str:
    machine, ceilings = told["machine"], result.ceilings
    command = " ".join(["python -m bench.tc", *told["command"][1:]])
    quick = " This was a quick run: it shows that all works, not how fast." if result.settings.quick else ""
    bandwidths = ", ".join(f"{each.cache} {each.gbs:.0f}" for each in ceilings.bandwidths)
    return "\n".join(
        [
            "# Tensor Comprehensions",
            "",
            f"Written by `{command}`; [how it measures](benchmarks.md#tensor-comprehensions).{quick}",
            "",
            f"{date_of(told['at'])}; {machine['processor']}, {machine['cores']} cores, load {machine['load']:.1f}",
            f"when it ended; {ceilings.workers} threads: {ceilings.gflops:.0f} GFLOP/s of float32 multiply-adds,",
            f"read bandwidths in GB/s: {bandwidths}. "
            + ", ".join(f"{name} {version}" for name, version in told["versions"].items())
            + ".",
        ]
    )


def _rows(result: TcResult) -> str:
    found = [
        (row.label if place == 0 else "", *cells(row, times))
        for row in result.rows
        if row.group != RANDOM
        for place, times in enumerate(row.peers)
    ]
    said = "The floor is the time of the operations at the peak, or of the bytes at the bandwidth of their cache."
    return "\n".join(["## Rows", "", said, "", *markdown_table(HEADS, found)])


def _random(result: TcResult) -> str:
    rows = [row for row in result.rows if row.group == RANDOM]
    ratios = [(row, found) for row in rows if (found := ratio(row, [OWN_FIXED])) is not None]
    if not ratios:
        return ""
    lines = []
    for row, share in ratios:
        own, fixed = row.of(OWN), row.of(OWN_FIXED)
        assert own is not None and fixed is not None
        lines.append((row.label, f"{own.p50:,.0f}", f"{fixed.p50:,.0f}", f"{share:.2f}"))
    mean = geometric_mean([share for _, share in ratios])
    said = f"One function for all sizes, beside one for each: in the geometric mean it has {mean:.1%} of their speed."
    heads = ("product", "all sizes, us", "sizes fixed, us", "share")
    return "\n".join(["## Random sizes", "", said, "", *markdown_table(heads, lines)])


def _refused(result: TcResult) -> str:
    lines = [
        f"- {find(each.peer).label} on {each.workload}: {each.why.strip().splitlines()[-1]}"
        for each in result.refused
    ]
    return "\n".join(["## Not timed", "", *lines]) if lines else ""
