"""What is said between the benchmark of dynamic shapes and the process of a peer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from bench.shapes.problems import ShapesProblem


@dataclass(frozen=True, slots=True)
class MakeProblem:
    """Make what the problem needs. The reply is a `Made`, or None if the peer has no such kind."""

    problem: ShapesProblem


@dataclass(frozen=True, slots=True)
class ShapesMade:
    """The seconds that it took to make what serves a problem."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Check:
    """Compute a shape. The reply is the error of the result: max|a - b| / max(1, max|b|) against float64."""

    shape: int


@dataclass(frozen=True, slots=True)
class TimeShape:
    """Time a shape's calls until they have taken so many seconds together, at least and at most so often.

    The reply is each call's nanoseconds.
    """

    shape: int
    seconds: float
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class TimeFresh:
    """Call shapes for the first time, and again: the reply is for each the nanoseconds of its calls."""

    shapes: range
    repeats: int


@dataclass(frozen=True, slots=True)
class CompareRows:
    """Compare the bits of each shape's rows with those of the largest shape. The reply is `RowBits`."""


@dataclass(frozen=True, slots=True)
class RowBits:
    """Elements compared, how many differ, how many shapes have such, and a hash of the largest shape's bits."""

    elements: int
    different: int
    shapes: int
    shapes_different: int
    digest: str


@dataclass(frozen=True, slots=True)
class Grow:
    """Call these shapes. The reply is by how many bytes the process grew meanwhile."""

    shapes: range


@dataclass(frozen=True, slots=True)
class AskDetails:
    """What else is known of what serves the problem? The reply is `ShapesPeer.details`."""


ShapesRequest: TypeAlias = MakeProblem | Check | TimeShape | TimeFresh | CompareRows | Grow | AskDetails
Details: TypeAlias = dict[str, Any]
