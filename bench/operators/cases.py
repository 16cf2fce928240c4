"""Cases: an operator with the shapes that it is measured on, and what each is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.lengths import LENGTH_SETS, Lengths, draw_batches
from bench.operators.problems import Operator, Problem, Sizes

SEED = 0


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the results: `shape` says which lengths, how many products or what size."""

    shape: str
    problem: Problem

    @property
    def timed(self) -> range:
        """Return the batches that are timed."""
        return range(max(1, len(self.problem.batches) - 1))

    @property
    def warm(self) -> int:
        """Return the batch to warm up with: the last one, which is not timed unless it is the only one."""
        return len(self.problem.batches) - 1


@dataclass(frozen=True, slots=True)
class Extents:
    """What cases are made of; `rounds` is how many batches of sequences are timed.

    The sides of vgemm's matrices are multiples of `side` from 4 to 11, 128 in CoRa's section 7.1.
    """

    sets: tuple[str, ...]
    batch: int
    rounds: int
    products: int
    triangles: tuple[int, ...]
    sizes: Sizes = field(default_factory=Sizes)
    side: int = 128


def make_cases(operator: Operator, extents: Extents, threads: int) -> list[Case]:
    """Return an operator's cases."""
    match operator:
        case Operator.VGEMM:
            batch = _draw_sides(extents.products, extents.side)
            return [Case(f"{extents.products}", _problem(operator, extents, [batch], threads))]
        case Operator.TRMM:
            return [
                Case(f"{n}", _problem(operator, extents, [np.array([n], np.int32)], threads))
                for n in extents.triangles
            ]
        case _:
            return [_sequences(operator, name, extents, threads) for name in extents.sets]


def _sequences(operator: Operator, name: str, extents: Extents, threads: int) -> Case:
    """Return the case of a length set; one batch more than is timed is there to warm up with."""
    batches = draw_batches(LENGTH_SETS[name], extents.batch, extents.rounds + 1, SEED)
    return Case(name, _problem(operator, extents, batches, threads))


def _problem(operator: Operator, extents: Extents, batches: Sequence[Lengths], threads: int) -> Problem:
    return Problem(operator, extents.sizes, tuple(batches), threads, SEED)


def _draw_sides(products: int, unit: int) -> Lengths:
    random = np.random.default_rng(SEED)
    return random.integers(4, 12, (products, 3), np.int32) * np.int32(unit)
