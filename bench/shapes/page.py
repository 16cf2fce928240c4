"""docs/evidence/dynamic_shapes.md, written from a run alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.goals import geometric_mean
from bench.machine import date_of
from bench.markdown import markdown_table
from bench.peers.shapes import OWN, find
from bench.shapes.figure_tables import figure_tables
from bench.shapes.goals import ahead_of, goals_of, goals_section, microseconds, rows_of, shares_of_peak
from bench.shapes.results import Searched, ShapeRow, ShapesResult

_SHOWN = 12
"""Rows of a table: of a longer sweep, as many at equal distances, the last one among them."""


def page_of(
    told: Mapping[str, Any],
    result: ShapesResult,
    picture: str | None = None,
    searched: Sequence[Searched] = (),
) -> str:
    """Return the page; `told` is the run as JSON has it, of which the machine and the versions are shown.

    `picture` is the path of the plot, relative to the page; `searched` is what MetaSchedule found in another run.
    """
    sections = [
        _head(told, result),
        goals_section(goals_of(result)),
        None if picture is None else f"![share of peak over shapes, a line for each peer]({picture})",
        _tuned(result),
        _searched(result, searched),
        *_sweeps(result),
        *figure_tables(result.figures),
        _fresh(result),
        _bits(result),
        _served(result),
        _refused(result),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def read_searched(path: Path) -> list[Searched]:
    """Return what `bench.shapes.metaschedule` wrote."""
    return msgspec.convert(msgspec.json.decode(path.read_bytes())["rows"], list[Searched])


def _head(told: Mapping[str, Any], result: ShapesResult) -> str:
    machine, versions = told["machine"], told["versions"]
    command = " ".join(["python -m bench.shapes", *told["command"][1:]])
    peaks = ", ".join(
        f"{each.gflops:.0f} GFLOP/s on {each.workers} thread{'s' * (each.workers > 1)}"
        for each in result.ceilings
    )
    quick = " This was a quick run: it shows that all works, not how fast." if result.settings.quick else ""
    return "\n".join(
        [
            "# Dynamic shapes",
            "",
            f"Written by `{command}`; [how it measures](benchmarks.md#dynamic-shapes).{quick}",
            "",
            f"{date_of(told['at'])}; {machine['processor']}, {machine['cores']} cores, load {machine['load']:.1f}",
            f"when it ended; measured peak of float32 multiply-adds: {peaks}. "
            + ", ".join(f"{name} {version}" for name, version in versions.items())
            + ".",
        ]
    )


def _sweeps(result: ShapesResult) -> Iterator[str]:
    keys = dict.fromkeys((row.workload, row.threads) for row in result.rows)
    for workload, threads in keys:
        rows = [row for row in result.rows if (row.workload, row.threads) == (workload, threads)]
        head = f"## {workload}, {threads} thread{'s' * (threads > 1)}"
        yield "\n".join([head, "", *_summary(result, rows), "", *_sweep(result, rows)])


def _summary(result: ShapesResult, rows: Sequence[ShapeRow]) -> list[str]:
    """Return what a sweep comes to for each peer: its share of peak, and its time over ours."""
    cells = []
    for peer in _peers(rows):
        shares, ratios = shares_of_peak(result, rows, peer), ahead_of(rows, [peer])
        cells.append(
            (
                find(peer).label,
                f"{geometric_mean(shares):.1%}",
                f"{min(shares):.1%}",
                f"{geometric_mean(ratios):.2f}" if ratios and peer != OWN else "",
                f"{min(ratios):.2f}" if ratios and peer != OWN else "",
            )
        )
    heads = (f"all {len(rows)} shapes", "share of peak, mean", "least", "time over ours, mean", "least")
    return markdown_table(heads, cells)


def _sweep(result: ShapesResult, rows: Sequence[ShapeRow]) -> list[str]:
    """Return microseconds of each shape, and in brackets those between which nine of ten calls of ours are."""
    peers = _peers(rows)
    cells = []
    for row in _some(rows):
        own = next((each.took for each in row.peers if each.peer == OWN), None)
        took = [microseconds(row, peer) for peer in peers]
        cells.append(
            (
                row.label,
                *("" if us is None else f"{us:,.0f}" for us in took),
                "" if own is None else f"{own.low:,.0f}-{own.high:,.0f}",
            )
        )
    return markdown_table(("microseconds", *(find(peer).label for peer in peers), "ours, 10-90 %"), cells)


def _some(rows: Sequence[ShapeRow]) -> list[ShapeRow]:
    """Return about a dozen rows."""
    if len(rows) <= _SHOWN:
        return list(rows)
    places = {round(place * (len(rows) - 1) / (_SHOWN - 1)) for place in range(_SHOWN)}
    return [rows[place] for place in sorted(places)]


def _fresh(result: ShapesResult) -> str:
    cells = [
        (
            find(each.peer).label,
            f"{each.shapes:,}",
            f"{each.first.median:,.0f}",
            f"{each.later.median:,.0f}",
            f"{each.extra.median:,.0f} ({each.extra.low:,.0f}-{each.extra.high:,.0f})",
            f"{each.over:.1%}",
            f"{each.noise:.1%}",
            f"{each.seconds:.2f}",
        )
        for each in result.fresh
    ]
    if not cells:
        return ""
    heads = (
        "",
        "shapes",
        "first call, us",
        "later, us",
        "extra, us (10-90 %)",
        "over the bound",
        "second calls over it",
        "all firsts, s",
    )
    said = (
        "A stream of shapes never seen before: the bound is 1.05 times the later call and 20 microseconds. "
    )
    said += "Second calls, over the same bound of third ones, show what the machine's noise alone comes to."
    grown = [
        (find(each.peer).label, f"{each.shapes // 2:,}", f"{each.bytes / 2**20:.1f}") for each in result.grown
    ]
    table = markdown_table(heads, cells)
    if grown:
        table += ["", *markdown_table(("", "more shapes", "the process grew by, MiB"), grown)]
    return "\n".join(["## Fresh shapes", "", said, "", *table])


def _tuned(result: ShapesResult) -> str:
    cells = [
        (f"{each.seconds:.0f}", str(each.points), f"{each.gain - 1:.1%}", f"`{each.best}`")
        for each in result.tuned
    ]
    if not cells:
        return ""
    said = "What `ragged.tune` finds on dense, over what is chosen by predicted time and not measured."
    heads = ("seconds", "points timed", "gain", "options")
    return "\n".join(["## Measured tuning", "", said, "", *markdown_table(heads, cells)])


def _searched(result: ShapesResult, searched: Sequence[Searched]) -> str:
    if not searched:
        return ""
    own = {row.label: microseconds(row, OWN) for row in rows_of(result, "dense")}
    cells = [
        (
            each.label,
            str(each.trials),
            f"{each.seconds:,.0f}",
            f"{each.us:,.0f}",
            "" if (us := own.get(each.label)) is None else f"{us:,.0f}",
        )
        for each in searched
    ]
    said = "A program for each shape, searched by timing candidates (`python -m bench.shapes.metaschedule`)."
    heads = ("dense", "trials", "seconds", "the best, us", "ours, us")
    return "\n".join(["## MetaSchedule", "", said, "", *markdown_table(heads, cells)])


def _bits(result: ShapesResult) -> str:
    cells = [
        (
            find(each.peer).label,
            str(each.threads),
            f"{each.elements:,}",
            f"{each.different:,}",
            f"{each.shapes_different} of {each.shapes}",
            f"`{each.digest[:8]}`",
        )
        for each in result.bits
    ]
    if not cells:
        return ""
    said = "Rows of each shape compared with the same rows of the largest: does a row depend on how many come with it?"
    heads = ("", "threads", "elements", "with other bits", "shapes with such", "hash of the largest")
    return "\n".join(["## Bits", "", said, "", *markdown_table(heads, cells)])


def _served(result: ShapesResult) -> str:
    cells = [
        (
            f"{each.workload}, {each.threads}",
            find(each.peer).label,
            f"{each.seconds:.2f}",
            "" if each.variants is None else str(each.variants),
            "" if each.code_bytes is None else f"{each.code_bytes:,}",
            "" if each.dispatch_ns is None else f"{each.dispatch_ns:.0f}",
        )
        for each in result.served
        if each.peer == OWN or each.seconds > 0.5
    ]
    if not cells:
        return ""
    heads = (
        "workload, threads",
        "",
        "seconds before the first call",
        "variants",
        "bytes of code",
        "kernel on no rows, ns",
    )
    return "\n".join(["## Compiling", "", *markdown_table(heads, cells)])


def _refused(result: ShapesResult) -> str:
    if not result.refused:
        return ""
    lines = [
        f"- {find(each.peer).label} on {each.workload}: {each.why.strip().splitlines()[-1]}"
        for each in result.refused
    ]
    return "\n".join(["## Not timed", "", *lines])


def _peers(rows: Sequence[ShapeRow]) -> list[str]:
    return list(dict.fromkeys(each.peer for row in rows for each in row.peers))
