"""The process of one peer of the shapes benchmark: answers requests until there are no more.

python -m bench.shapes.serve MODULE FILE_DESCRIPTOR
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter, perf_counter_ns
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from bench.peers.shapes.peer import Call, ShapesPeer
from bench.resident import growth
from bench.serve import serve
from bench.shapes.messages import (
    AskDetails,
    Check,
    CompareRows,
    Grow,
    MakeProblem,
    RowBits,
    ShapesMade,
    ShapesRequest,
    TimeFresh,
    TimeShape,
)
from bench.shapes.problems import Array, ShapesProblem, Sizes, reference

AWAKE = 2
"""Calls right before those that are timed, so that threads are awake and caches warm."""


class ShapesServer:
    """A peer's class, and the problem that it was last given.

    Operands and the reference are those of the largest shape with the same weights; shapes of fewer rows or images
    are the first of them.
    """

    def __init__(self, module: str) -> None:
        path, _, name = module.partition(":")
        self._class: type[ShapesPeer] = getattr(import_module(path), name or "Measured")
        self._peer: ShapesPeer | None = None
        self._problem: ShapesProblem | None = None
        self._operands: dict[object, tuple[Array, ...]] = {}
        self._expected: dict[object, NDArray[np.float64]] = {}

    def reply(self, request: ShapesRequest) -> object:
        """Do what is asked."""
        match request:
            case MakeProblem(problem=problem):
                return self._make(problem)
            case Check(shape=shape):
                return self._error(self.problem.shapes[shape])
            case TimeShape():
                return self._time(request)
            case TimeFresh(shapes=shapes, repeats=repeats):
                with _no_garbage():
                    return [self._first_calls(self.problem.shapes[number], repeats) for number in shapes]
            case CompareRows():
                return self._compare_rows()
            case Grow(shapes=shapes):
                return growth(lambda: self._call_all(shapes), 1)
            case AskDetails():
                return self.peer.details()
            case _:
                assert_never(request)

    @property
    def problem(self) -> ShapesProblem:
        """The problem; there is one after `MakeProblem`."""
        assert self._problem is not None, "MakeProblem comes first"
        return self._problem

    @property
    def peer(self) -> ShapesPeer:
        """The peer's own; there is one after `MakeProblem`."""
        assert self._peer is not None, "MakeProblem comes first"
        return self._peer

    def _make(self, problem: ShapesProblem) -> ShapesMade | None:
        self._peer, self._operands, self._expected = None, {}, {}  # the problem before gives back its memory
        if problem.kind not in self._class.kinds:
            return None
        begin = perf_counter()
        self._peer, self._problem = self._class(problem), problem
        took = perf_counter() - begin
        gc.collect()
        gc.freeze()  # what stays needs no look in each collection between timings
        return ShapesMade(took)

    def _operands_of(self, sizes: Sizes) -> tuple[Array, ...]:
        """Return the operands of a shape: the first rows or images of the largest that differs in nothing else."""
        key = _but_first(sizes)
        if key not in self._operands:
            alike = [each for each in self.problem.shapes if _but_first(each) == key]
            largest = max(alike, key=lambda each: each.operands[0][0])
            self._operands[key] = self.problem.operands(largest)
        return tuple(
            array[: shape[0]] for array, shape in zip(self._operands[key], sizes.operands, strict=True)
        )

    def _call(self, sizes: Sizes) -> Call:
        return self.peer.call(sizes, self._operands_of(sizes))

    def _error(self, sizes: Sizes) -> float:
        """Return the error of a result; infinite where a number is missing, or is none."""
        key, operands = _but_first(sizes), self._operands_of(sizes)
        if key not in self._expected:
            self._expected[key] = reference(self.problem, sizes, self._operands[key])
        expected = self._expected[key][: operands[0].shape[0]]
        found = self.peer.array(self._call(sizes)())
        if found.shape != expected.shape or not np.isfinite(found).all():
            return float("inf")
        return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))

    def _time(self, request: TimeShape) -> list[int]:
        call = self._call(self.problem.shapes[request.shape])
        with _no_garbage():
            for _ in range(AWAKE):
                call()
            times = [_nanoseconds(call)]
            enough = int(request.seconds * 1e9 / max(1, times[0]))
            count = min(request.most, max(request.least, enough))
            return [*times, *(_nanoseconds(call) for _ in range(count - 1))]

    def _first_calls(self, sizes: Sizes, repeats: int) -> list[int]:
        call = self._call(sizes)
        return [_nanoseconds(call) for _ in range(1 + repeats)]

    def _call_all(self, shapes: range) -> None:
        for number in shapes:
            self._call(self.problem.shapes[number])()

    def _compare_rows(self) -> RowBits:
        shapes = self.problem.shapes
        largest = max(shapes, key=lambda each: each.operands[0][0])
        whole = self.peer.array(self._call(largest)()).copy().view(np.int32)
        digest = hashlib.sha256(whole.tobytes()).hexdigest()
        elements = different = shapes_different = 0
        for sizes in shapes:
            rows = self.peer.array(self._call(sizes)()).view(np.int32)
            unlike = int(np.count_nonzero(rows != whole[: len(rows)]))
            elements += rows.size
            different += unlike
            shapes_different += unlike > 0
        return RowBits(elements, different, len(shapes), shapes_different, digest)


def _but_first(sizes: Sizes) -> object:
    """Return what has to be the same for results to be the first of another's."""
    return (*(shape[1:] for shape in sizes.operands), getattr(sizes, "weights", ()))


def _nanoseconds(call: Call) -> int:
    begin = perf_counter_ns()
    kept = call()
    took = perf_counter_ns() - begin
    del kept  # giving memory back is not timed, but comes before the next call
    return took


@contextmanager
def _no_garbage() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


if __name__ == "__main__":
    serve(lambda module: ShapesServer(module).reply)
