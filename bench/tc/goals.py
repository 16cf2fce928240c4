"""What the project sets itself for Tensor Comprehensions, and how far a run meets it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from bench.goals import geometric_mean
from bench.peers.tc import HALIDE, LIBRARIES, OPENBLAS, OWN, OWN_FIXED, OWN_TUNED, TORCH, TORCH_COMPILED
from bench.shapes.goals import GoalMet, at_least, at_most
from bench.tc.results import TcResult, TcRow
from bench.tc.workloads import GRADIENT, RANDOM

LEAST_OF_BEST = 0.95
"""A row's best peer may take no less than this share of our time."""
_ROW = OWN_FIXED
"""What rows are judged by, if it ran: the function compiled for their sizes, as those of the peers are."""


def goals_of(result: TcResult) -> list[GoalMet]:
    """Return the goals that a run has measured."""
    rows = [row for row in result.rows if not row.group]
    gradients = [row for row in result.rows if row.group == GRADIENT]
    return [
        *_products(result),
        *_of_functions(rows),
        *_every_row(rows),
        *_of_gradients(gradients, [*rows, *gradients]),
        *_compiling(rows),
    ]


def ratio(row: TcRow, peers: Iterable[str], own: str = OWN) -> float | None:
    """Return the best time of some peers over ours; None where it was not measured."""
    mine = row.of(own) or row.of(OWN)
    others = [times.p50 for peer in peers if (times := row.of(peer)) is not None]
    return min(others) / mine.p50 if mine is not None and others else None


def _ratios(rows: Iterable[TcRow], peers: Iterable[str], own: str = OWN) -> list[float]:
    peers = tuple(peers)
    return [found for row in rows if (found := ratio(row, peers, own)) is not None]


def _products(result: TcResult) -> Iterator[GoalMet]:
    rows = [row for row in result.rows if not row.group]
    large = [row for row in rows if row.function in ("tmm", "c3", "mlp1") and row.label != _SMALL]
    for row in large:
        for found in _ratios([row], [OPENBLAS]):
            yield at_least(2, f"{row.label}: OpenBLAS over ours", found, 0.95)
    drawn = _ratios([row for row in result.rows if row.group == RANDOM], [OWN_FIXED])
    if drawn:
        what = f"products of {len(drawn)} random sizes, sizes fixed over ours, geometric mean"
        yield at_least(2, what, geometric_mean(drawn), 0.93)
    for row in rows:
        if row.label == _SMALL and (own := row.of(OWN)) is not None:
            yield at_most(2, f"{row.label}: microseconds of a call", own.p50, 12)


_SMALL = "tmm 128 x 32 x 256"
_WANTED: Sequence[tuple[str, str, Sequence[str], float]] = (
    ("tbmm", "PyTorch", (TORCH,), 2.5),
    ("two_lookups", "PyTorch", (TORCH,), 1.2),
    ("mlp3", "PyTorch", (TORCH,), 3.0),
    ("mlp3", "torch.compile", (TORCH_COMPILED,), 1.5),
    ("wavenet_block", "PyTorch", (TORCH,), 3.0),
    ("wavenet_block", "torch.compile", (TORCH_COMPILED,), 1.5),
)
"""Functions, and how many times as long as ours other peers are to take."""


def _of_functions(rows: Sequence[TcRow]) -> Iterator[GoalMet]:
    for function, label, peers, wanted in _WANTED:
        for row in rows:
            if row.function == function:
                for found in _ratios([row], peers, _ROW):
                    yield at_least(3, f"{row.label}: {label} over ours", found, wanted)
    grouped = [row for row in rows if row.function == "group_convolution"]
    for row in grouped:
        if (own := row.of(_ROW) or row.of(OWN)) is not None:
            yield at_most(3, f"{row.label}: ours over the floor", own.p50 / row.floor, 1.7)
    ratios = _ratios(grouped, [TORCH], _ROW)
    if ratios:
        yield at_least(3, "group_convolution: oneDNN over ours, geometric mean", geometric_mean(ratios), 2.0)
    for row in rows:
        if row.memory_bound and (own := row.of(_ROW) or row.of(OWN)) is not None:
            yield at_least(3, f"{row.label}: share of the bandwidth of memory", row.floor / own.p50, 0.85)


def _every_row(rows: Sequence[TcRow]) -> Iterator[GoalMet]:
    least = _ratios(rows, LIBRARIES, _ROW)
    if least:
        behind = sum(found < LEAST_OF_BEST for found in least)
        what = f"the best peer over ours, least of {len(least)} rows ({behind} below)"
        yield at_least(3, what, min(least), LEAST_OF_BEST)
    for label, peers, wanted in (
        ("the best of PyTorch", (TORCH, TORCH_COMPILED), 1.5),
        ("Halide, Adams2019,", (HALIDE,), 1.2),
    ):
        ratios = _ratios(rows, peers, _ROW)
        if ratios:
            what = f"{label} over ours, geometric mean of {len(ratios)} rows"
            yield at_least(3, what, geometric_mean(ratios), wanted)
    general = _ratios(rows, [_ROW])
    if general:
        what = f"sizes fixed over ours for all sizes, geometric mean of {len(general)} rows"
        yield at_least(3, what, geometric_mean(general), 0.93)
    tuned = [1 / found for found in _ratios(rows, [OWN_TUNED], OWN_FIXED)]
    if tuned:
        yield at_most(3, "what tuning gains over sizes fixed, geometric mean", geometric_mean(tuned), 1.1)


def _of_gradients(gradients: Sequence[TcRow], functions: Sequence[TcRow]) -> Iterator[GoalMet]:
    named = {row.label: row for row in functions}
    for row in gradients:
        function = named.get(row.label.removeprefix("gradient of "))
        if function is row:
            continue
        own = row.of(_ROW) or row.of(OWN)
        before = None if function is None else function.of(_ROW) or function.of(OWN)
        if own is not None and before is not None:
            yield at_most(4, f"{row.label}: over the function itself", own.p50 / before.p50, 2.3)
        for found in _ratios([row], [TORCH], _ROW):
            yield at_least(4, f"{row.label}: PyTorch's backward pass over ours", found, 1.3)


def _compiling(rows: Sequence[TcRow]) -> Iterator[GoalMet]:
    own = [(row.statements, times) for row in rows if (times := row.of(OWN)) is not None]
    classes: tuple[tuple[str, Callable[[int], bool], float], ...] = (
        ("one statement", lambda count: count == 1, 0.5),
        ("several statements", lambda count: count > 1, 1.0),
    )
    for label, belongs, wanted in classes:
        seconds = [times.compile_seconds for count, times in own if belongs(count)]
        if seconds:
            yield at_most(5, f"seconds from the text to a function of {label}, most", max(seconds), wanted)
    cached = [1000 * times.cached_seconds for _, times in own if times.cached_seconds is not None]
    if cached:
        yield at_most(5, "milliseconds from the text to a function from the cache, most", max(cached), 5)
