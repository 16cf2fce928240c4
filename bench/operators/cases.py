"""Cases: an operator with the shapes that it is measured on, and what each is called."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.lengths import ALL_SETS, Lengths, draw_batches
from bench.operators.problems import Operator, Problem, Sizes

SEED = 0


@dataclass(frozen=True, slots=True)
class Case:
    """A row of the results.

    `shape` says which lengths, of how many sequences, and how wide rows are; or how many products, or what size.
    """

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
    """What cases are made of: each set of lengths with each number of sequences in a batch and each layer's sizes.

    `rounds` is how many batches of sequences are timed. The sides of vgemm's matrices are multiples of `side` from 4 to
    11, 128 in CoRa's section 7.1; one product of the largest is a case of its own. `narrow` are triangles to multiply
    with few columns: the side, and how many.
    """

    sets: tuple[str, ...]
    batches: tuple[int, ...]
    rounds: int
    products: int
    triangles: tuple[int, ...]
    layers: tuple[Sizes, ...] = (Sizes(),)
    side: int = 128
    narrow: tuple[tuple[int, int], ...] = ()


def make_cases(operator: Operator, extents: Extents, threads: int) -> list[Case]:
    """Return an operator's cases."""
    match operator:
        case Operator.VGEMM:
            # One product says what is shared inside it.
            one = np.full((1, 3), 11 * extents.side, np.int32)
            batches = (one, _draw_sides(extents.products, extents.side))
            return [
                Case(f"{len(each)}", Problem(operator, Sizes(), (each,), threads, SEED)) for each in batches
            ]
        case Operator.TRMM | Operator.TRADD | Operator.TRMUL:
            sides = ((n, np.array([n], np.int32)) for n in extents.triangles)
            cases = [Case(f"{n}", Problem(operator, Sizes(), (side,), threads, SEED)) for n, side in sides]
            for n, m in extents.narrow if operator is Operator.TRMM else ():
                shape = np.array([[n, m]], np.int32)
                cases.append(Case(f"{n}, {m} columns", Problem(operator, Sizes(), (shape,), threads, SEED)))
            return cases
        case _:
            return [
                Case(
                    f"{name}, {batch}, {sizes.hidden}",
                    Problem(operator, sizes, _sequences(name, batch, extents.rounds), threads, SEED),
                )
                for sizes in extents.layers
                for name in extents.sets
                for batch in extents.batches
            ]


def _sequences(name: str, batch: int, rounds: int) -> tuple[Lengths, ...]:
    """Return batches of a length set: those that are timed, and one more to warm up with."""
    return tuple(draw_batches(ALL_SETS[name], batch, rounds + 1, SEED))


def _draw_sides(products: int, unit: int) -> Lengths:
    random = np.random.default_rng(SEED)
    return random.integers(4, 12, (products, 3), np.int32) * np.int32(unit)
