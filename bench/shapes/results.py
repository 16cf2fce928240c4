"""What a run of the shapes benchmark finds out, as it is written to JSON."""

from __future__ import annotations

from dataclasses import dataclass

from bench.ceilings import Ceilings
from bench.results import Spread


@dataclass(frozen=True, slots=True)
class ShapeTimes:
    """One peer on one shape: microseconds of a call, and the error of its result."""

    peer: str
    took: Spread
    error: float


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """A shape of a workload: what it is called, its operations, and times by peer."""

    workload: str
    threads: int
    label: str
    flops: int
    peers: list[ShapeTimes]


@dataclass(frozen=True, slots=True)
class Served:
    """What a peer made for a workload, in so many seconds before the first call.

    `code_bytes` and `variants` are of our function; `predicted` are the microseconds that its plan says, by label, and
    `dispatch_ns` is the median time of its kernel on no rows. None where there is no such thing.
    """

    workload: str
    threads: int
    peer: str
    seconds: float
    code_bytes: int | None = None
    variants: int | None = None
    predicted: dict[str, float] | None = None
    dispatch_ns: float | None = None


@dataclass(frozen=True, slots=True)
class Fresh:
    """Calls with shapes never seen before, in microseconds: the first, the least of later ones, and the sum of firsts.

    `extra` is the first less the later one, `over` the share of the shapes with a first call over the bound: 1.05
    times the later one and 20 microseconds. `noise` is the share with a second call over that bound of the third.
    """

    peer: str
    shapes: int
    first: Spread
    later: Spread
    extra: Spread
    over: float
    noise: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Bits:
    """Rows of all shapes compared with the same rows of the largest: elements, those that differ, and shapes.

    `digest` is a hash of the largest result's bits: it is the same where threads and tiles make no difference.
    """

    peer: str
    threads: int
    elements: int
    different: int
    shapes: int
    shapes_different: int
    digest: str


@dataclass(frozen=True, slots=True)
class Grown:
    """By how many bytes a peer's process grew while it served so many shapes, after it had served as many others."""

    peer: str
    shapes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Tuned:
    """A measured search for the lengths of the dense workload: points that were timed, and what the best one gains."""

    threads: int
    seconds: float
    points: int
    gain: float
    best: str


@dataclass(frozen=True, slots=True)
class Searched:
    """A shape that MetaSchedule searched for: trials, seconds, and the median microseconds of the best program."""

    label: str
    trials: int
    seconds: float
    us: float
    gflops: float
    error: float


@dataclass(frozen=True, slots=True)
class Category:
    """Predicted: variants, bytes of code, and the share of the best tile's throughput; `choices` is the paper's k."""

    choices: int | None
    variants: int
    code_bytes: int
    share: float


@dataclass(frozen=True, slots=True)
class GridPoint:
    """A grid of so many tiles: GFLOP/s as measured, and as the plan predicts."""

    tiles: int
    gflops: float
    predicted: float | None


@dataclass(frozen=True, slots=True)
class Factors:
    """DietCode's equation 3 for so many rows: f_local in GFLOP/s of all workers, f_spatial, f_pad, what follows."""

    rows: int
    local: float
    spatial: float
    padding: float
    predicted: float
    measured: float


@dataclass(frozen=True, slots=True)
class Figures:
    """DietCode's figures 12 (categories by votes, and chosen jointly), 13 (grids of one tile) and 14 (factors)."""

    tile: str
    threads: int
    voted: list[Category]
    joint: list[Category]
    grid: list[GridPoint]
    factors: list[Factors]


@dataclass(frozen=True, slots=True)
class ShapesRefused:
    """A peer that is not timed on a workload, and why."""

    peer: str
    workload: str
    why: str


@dataclass(frozen=True, slots=True)
class ShapesSettings:
    """What a run was asked for; `pause` is seconds before each measurement, `seconds` how long a shape is repeated."""

    threads: int
    seconds: float
    pause: float
    quick: bool


@dataclass(frozen=True, slots=True)
class ShapesResult:
    """A run: ceilings for one thread and for all, and what was measured."""

    settings: ShapesSettings
    ceilings: list[Ceilings]
    rows: list[ShapeRow]
    served: list[Served]
    fresh: list[Fresh]
    bits: list[Bits]
    grown: list[Grown]
    tuned: list[Tuned]
    refused: list[ShapesRefused]
    figures: Figures | None = None
