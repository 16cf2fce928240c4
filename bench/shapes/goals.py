"""What the project sets itself for dynamic shapes, and how far a run meets it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.goals import geometric_mean
from bench.markdown import markdown_table
from bench.peers.shapes import BEST, OWN, OWN_STATIC, REMAINDERS, SMALL, STRONGEST
from bench.shapes.results import Served, ShapeRow, ShapesResult

CODE_BYTES, MOST_VARIANTS = 24 * 1024, 4
COMPILE_SECONDS = 6.0
"""A second to decide and five to compile."""
SMALL_BYTES = 8192
DISPATCH_NS = 50.0
FLAT_BYTES = 4 * 2**20
"""What a process may grow by at its peak: a result has up to 2.5 MB."""
ELEMENTS = 100_000_000


@dataclass(frozen=True, slots=True)
class GoalMet:
    """A goal in words, what was measured, what is wanted of it, and whether it is met."""

    number: int
    what: str
    measured: str
    wanted: str
    met: bool

    def __str__(self) -> str:
        return (
            f"{'met' if self.met else 'MISSED':7}{self.number} {self.what}: {self.measured} ({self.wanted})"
        )


def goals_of(result: ShapesResult) -> list[GoalMet]:
    """Return the goals that a run has measured."""
    parts: tuple[Callable[[ShapesResult], Iterator[GoalMet]], ...] = (
        _dense,
        _every_tile,
        _predictions,
        _code,
        _fresh,
        _other_kinds,
        _bits,
    )
    return [goal for part in parts for goal in part(result)]


def microseconds(row: ShapeRow, peer: str) -> float | None:
    """Return the median of a peer on a row, None if it was not timed."""
    return next((each.took.median for each in row.peers if each.peer == peer), None)


def shares_of_peak(result: ShapesResult, rows: Sequence[ShapeRow], peer: str = OWN) -> list[float]:
    """Return the share of the measured peak of multiply-adds that a peer has in each row where it was timed."""
    peaks = {each.workers: each.gflops for each in result.ceilings}
    pairs = [(row, microseconds(row, peer)) for row in rows]
    return [row.flops / us / 1000 / peaks[row.threads] for row, us in pairs if us is not None]


def ahead_of(rows: Sequence[ShapeRow], peers: Sequence[str], own: str = OWN) -> list[float]:
    """Return how many times as long as ours the best of some peers takes, in each row where both were timed."""
    found = []
    for row in rows:
        mine = microseconds(row, own)
        others = [us for peer in peers if (us := microseconds(row, peer)) is not None]
        if mine is not None and others:
            found.append(min(others) / mine)
    return found


def rows_of(result: ShapesResult, workload: str, threads: int | None = None) -> list[ShapeRow]:
    """Return the rows of a workload, by default on all threads."""
    wanted = result.settings.threads if threads is None else threads
    return [row for row in result.rows if row.workload == workload and row.threads == wanted]


def served_of(result: ShapesResult, workload: str, threads: int, peer: str = OWN) -> Served | None:
    """Return what is known of our function for a workload."""
    for each in result.served:
        if (each.workload, each.threads, each.peer) == (workload, threads, peer):
            return each
    return None


def _dense(result: ShapesResult) -> Iterator[GoalMet]:
    for threads, mean, first in ((1, 0.95, 0.93), (2, 0.92, 0.88)):
        rows = rows_of(result, "dense", threads)
        shares = shares_of_peak(result, rows)
        if shares:
            of = f"dense, {threads} thread{'s' * (threads > 1)}"
            yield at_least(1, f"{of}, share of peak, geometric mean", geometric_mean(shares), mean)
            yield at_least(1, f"{of}, share of peak, T = 1", shares[0], first)
            yield at_least(1, f"{of}, share of peak, least", min(shares), 0.85)
        ratios = ahead_of(rows, STRONGEST)
        if ratios:
            of = f"dense, {threads} thread{'s' * (threads > 1)}, best of oneDNN, ONNX Runtime, OpenBLAS over ours"
            yield at_least(1, f"{of}, geometric mean", geometric_mean(ratios), 1.0)
            yield at_least(1, f"{of}, least", min(ratios), 0.95)


def _every_tile(result: ShapesResult) -> Iterator[GoalMet]:
    ratios = ahead_of(rows_of(result, "dense, every tile"), [BEST])
    if ratios:
        what = "dense, the best of all tiles at each shape over ours, geometric mean"
        yield at_least(1, what, geometric_mean(ratios), 0.97)


def _predictions(result: ShapesResult) -> Iterator[GoalMet]:
    errors = []
    for served in result.served:
        if served.peer != OWN or served.predicted is None or " x " not in served.workload:
            continue
        for row in rows_of(result, served.workload, served.threads):
            measured, predicted = microseconds(row, OWN), served.predicted.get(row.label)
            if measured is not None and predicted is not None:
                errors.append(abs(predicted / measured - 1))
    if errors:
        yield at_most(2, "predicted against measured, median error", float(np.median(errors)), 0.02)
        yield at_most(2, "predicted against measured, worst error", max(errors), 0.08)
    for tuned in result.tuned:
        what = f"gain of measured tuning, {tuned.points} points in {tuned.seconds:.0f} seconds"
        yield at_most(2, what, tuned.gain - 1, 0.03)
    seconds = [served.seconds for served in result.served if served.peer == OWN]
    if seconds:
        what = "seconds to decide and compile, most of any workload"
        yield GoalMet(
            2, what, f"{max(seconds):.1f}", f"at most {COMPILE_SECONDS:.0f}", max(seconds) <= COMPILE_SECONDS
        )


def _code(result: ShapesResult) -> Iterator[GoalMet]:
    threads = result.settings.threads
    small = served_of(result, "dense, every tile", threads, SMALL)
    if small is not None and small.code_bytes is not None:
        met = small.code_bytes <= SMALL_BYTES
        yield GoalMet(
            3, f"bytes of code with code_bytes={SMALL_BYTES}", f"{small.code_bytes:,}", "no more", met
        )
    ratios = ahead_of(rows_of(result, "dense, every tile"), [SMALL])
    if ratios:
        yield at_least(3, "ours over that, geometric mean", 1 / geometric_mean(ratios), 0.95)
    served = served_of(result, "dense", threads)
    if served is None:
        return
    if served.variants is not None:
        met = served.variants <= MOST_VARIANTS
        yield GoalMet(3, "variants of dense", str(served.variants), f"at most {MOST_VARIANTS}", met)
    if served.code_bytes is not None:
        met = served.code_bytes <= CODE_BYTES
        yield GoalMet(3, "bytes of code of dense", f"{served.code_bytes:,}", f"at most {CODE_BYTES:,}", met)


def _fresh(result: ShapesResult) -> Iterator[GoalMet]:
    for each in result.fresh:
        if each.peer == OWN:
            what = "first calls over 1.05 times a later one + 20 us"
            yield at_most(4, f"{what}, share of {each.shapes:,} fresh shapes", each.over, 0.01)
    for grown in result.grown:
        if grown.peer == OWN:
            what = f"bytes grown over {grown.shapes // 2:,} shapes"
            yield GoalMet(4, what, f"{grown.bytes:,}", f"at most {FLAT_BYTES:,}", grown.bytes <= FLAT_BYTES)
    served = served_of(result, "dense", result.settings.threads)
    if served is not None and served.dispatch_ns is not None:
        took, what = (
            served.dispatch_ns,
            "nanoseconds of the kernel of dense on no rows: dispatch, and a clock",
        )
        yield GoalMet(4, what, f"{took:.0f}", f"at most {DISPATCH_NS:.0f}", took <= DISPATCH_NS)


def _other_kinds(result: ShapesResult) -> Iterator[GoalMet]:
    rows = rows_of(result, "hidden")
    for what, ratios in (
        ("hidden sizes dynamic, a function per shape over one for all, least", ahead_of(rows, [OWN_STATIC])),
        ("hidden sizes dynamic, oneDNN over ours, least", ahead_of(rows, ["onednn", "onednn-runtime"])),
    ):
        if ratios:
            yield at_least(5, what, min(ratios), 0.95)
    for name in ("batched scores", "batched mixing"):
        rows = rows_of(result, name)
        long = [row for row in rows if int(row.label.partition("=")[2]) >= 43]
        shares = shares_of_peak(result, long)
        if shares:
            yield at_least(5, f"{name}, share of peak from T = 43 up, least", min(shares), 0.85)
        ratios = ahead_of(rows, ["torch", "openblas", "mkl"])
        if ratios:
            what = f"{name}, best of torch.bmm, NumPy, MKL over ours, geometric mean"
            yield at_least(5, what, geometric_mean(ratios), 1.5)
    rows = [row for row in result.rows if row.workload.startswith("conv ")]
    shares, ratios = shares_of_peak(result, rows), ahead_of(rows, ["onednn"])
    if shares:
        yield at_least(5, "conv2d, share of peak, least", min(shares), 0.85)
    if ratios:
        yield at_least(5, "conv2d, oneDNN over ours, least", min(ratios), 0.95)


def _bits(result: ShapesResult) -> Iterator[GoalMet]:
    own = [each for each in result.bits if each.peer in (OWN, *REMAINDERS)]
    if own:
        elements, different = sum(each.elements for each in own), sum(each.different for each in own)
        what = f"elements with bits that depend on T, of {elements:,}"
        wanted = f"0 of {ELEMENTS:,} or more"
        yield GoalMet(6, what, f"{different:,}", wanted, different == 0 and elements >= ELEMENTS)
        results, runs = {each.digest for each in own}, len(own)
        what = f"results with other bits, over {runs} runs with other threads and forced tiles"
        yield GoalMet(6, what, str(len(results) - 1), "0", len(results) == 1)


def at_least(number: int, what: str, measured: float, wanted: float) -> GoalMet:
    """Return a goal that is met by large numbers."""
    return GoalMet(number, what, f"{measured:.3f}", f"at least {wanted:.2f}", measured >= wanted)


def at_most(number: int, what: str, measured: float, wanted: float) -> GoalMet:
    """Return a goal that is met by small numbers."""
    return GoalMet(number, what, f"{measured:.3f}", f"at most {wanted:.2f}", measured <= wanted)


def goals_section(goals: Sequence[GoalMet]) -> str:
    """Return the section of a page with a table of goals; nothing without any."""
    if not goals:
        return ""
    heads = ("goal", "measured", "wanted", "", "number")
    cells = (
        (goal.what, goal.measured, goal.wanted, "met" if goal.met else "missed", str(goal.number))
        for goal in goals
    )
    return "\n".join(["## Goals", "", *markdown_table(heads, cells)])
