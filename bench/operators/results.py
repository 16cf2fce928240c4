"""What a run finds out of the ragged operators, as it is written to JSON."""

from __future__ import annotations

from dataclasses import dataclass

from bench.ceilings import Ceilings
from bench.operators.problems import Sizes
from bench.results import Spread


@dataclass(frozen=True, slots=True)
class Times:
    """One peer on one row. Of each batch the median call counts, in microseconds, in `of_batches`.

    `gflops` are useful operations in a second, at the median; None where an operator multiplies no matrices. `error`
    is the largest of its answers.
    """

    peer: str
    error: float
    took: Spread
    gflops: float | None
    of_batches: list[float]


@dataclass(frozen=True, slots=True)
class Row:
    """An operator on one kind of shape: times by peer.

    `elements` are a batch's sequences or products, `rows` its sequences' rows (0 where there are none), `flops` the
    useful operations of its products (0 where there are none): medians over the batches.
    """

    operator: str
    shape: str
    batches: int
    elements: int
    rows: float
    flops: float
    peers: list[Times]


@dataclass(frozen=True, slots=True)
class Variation:
    """A variant of an operator on some sizes: milliseconds, and how many times faster than the first variant."""

    operator: str
    shape: str
    variant: str
    ms: Spread
    gain: float


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of an encoder layer of some lengths: bytes, and microseconds to fill them.

    `sparse`, `graph` and `fusion` are the schemes' in NumPy, `compiled` the preludes of compiled operators: where
    `shared`, of the layer as one function, else of its operators, a function each.
    """

    shape: str
    shared: bool
    sparse_bytes: int
    graph_bytes: int
    fusion_bytes: int
    compiled_bytes: int
    sparse: Spread
    graph: Spread
    fusion: Spread
    compiled: Spread


@dataclass(frozen=True, slots=True)
class Padding:
    """What padding costs a layer of a length set and a batch size: means over batches.

    `flops` are those without padding; `padded` and `partly` are multiples of them. Memory is in bytes: `padded_bytes`,
    `ragged_bytes`, and `fused_bytes` without scores.
    """

    shape: str
    batch: int
    flops: float
    padded: float
    partly: float
    padded_bytes: float
    ragged_bytes: float
    fused_bytes: float


@dataclass(frozen=True, slots=True)
class Refused:
    """A peer that is not timed, and why; one that does not start has no `shape`."""

    peer: str
    operator: str
    shape: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run was asked for; `pause` is seconds before each measurement."""

    threads: int
    batches: tuple[int, ...]
    layers: tuple[Sizes, ...]
    rounds: int
    pause: float
    seed: int


@dataclass(frozen=True, slots=True)
class Result:
    """A run: its settings, the machine's ceilings, the rows, and the peers that were refused."""

    settings: Settings
    ceilings: Ceilings
    rows: list[Row]
    refused: list[Refused]
