"""What benchmarks wrote as JSON, read: docs/evidence/benchmarks.md says what each field means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.ceilings import Ceilings
from bench.machine import Machine
from bench.operators.page import OperatorsDocument
from bench.operators.results import Padding, Tables, Variation
from bench.results import Gained, Refused, Row, Weighed
from bench.scaling_page import ScalingDocument


@dataclass(frozen=True, slots=True)
class Document:
    """A run of `bench.recursive`."""

    command: list[str]
    at: int
    machine: Machine
    versions: dict[str, str]
    settings: dict[str, object]
    ceilings: list[Ceilings]
    rows: list[Row]
    refused: list[Refused]
    absent: list[Refused]


@dataclass(frozen=True, slots=True)
class Linearizing:
    """A row of the JSON of `bench.linearize`: nanoseconds of a call on so many trees."""

    kind: str
    trees: int
    nodes: int
    fastest: float
    median: float


@dataclass(frozen=True, slots=True)
class Others:
    """What other runs found, and other commands.

    `sizes` is a run over many hidden sizes, `growth` over many batch sizes, `sequences` over sequences; `threads` are
    runs with other numbers of threads, and `ragged_threads` those of ragged operators.
    """

    sizes: Document | None = None
    growth: Document | None = None
    sequences: Document | None = None
    threads: Sequence[Document] = ()
    linearizing: Sequence[Linearizing] = ()
    memory: Sequence[Weighed] = ()
    gains: Sequence[Gained] = ()
    rewritten: Sequence[Gained] = ()
    ragged: Sequence[OperatorsDocument] = ()
    ragged_threads: Sequence[OperatorsDocument] = ()
    variations: Sequence[Variation] = ()
    tables: Sequence[Tables] = ()
    padding: Sequence[Padding] = ()
    scaling: ScalingDocument | None = None

    @property
    def runs(self) -> tuple[Document | None, ...]:
        """The other runs of `bench.recursive`."""
        return (self.sizes, self.growth, *self.threads, self.sequences)
