"""Search strategies with an ask-and-tell interface: points to try are asked for, and their costs are told.

A point is positions of values; strategies do not depend on their meaning.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import product
from typing import TypeAlias

import numpy as np

from ragged.errors import UserError
from ragged.tuning.contest import CLEARLY
from ragged.tuning.space import Point

_ATTEMPTS = 200
"""Random draws for a point that was not tried; after these, points are enumerated."""


class Strategy(ABC):
    """Proposes points of a space with these extents; none twice, and none with a known cost.

    `random` is a generator seeded with `seed`: a strategy proposes the same points for the same seed and costs.
    """

    attempts = _ATTEMPTS
    """Proposals for a point that was not tried; after these, random points are drawn."""

    def __init__(self, extents: tuple[int, ...], seed: int = 0) -> None:
        self.extents = extents
        self.random = np.random.default_rng(seed)
        self._seen: set[Point] = set()

    def ask(self, count: int) -> list[Point]:
        """Return up to `count` points to try; an empty list when all points were tried."""
        found: list[Point] = []
        while len(found) < count and len(self._seen) < math.prod(self.extents):
            point = self._unseen()
            if point is None:
                break
            self._seen.add(point)
            found.append(point)
        return found

    def tell(self, point: Point, cost: float) -> None:
        """Note a point's cost, its time over the default's, infinite if refused; of any point, asked for or not."""
        self._seen.add(point)
        self._learn(point, cost)

    def _unseen(self) -> Point | None:
        for _ in range(self.attempts):
            point = self._propose()
            if point is None or point not in self._seen:
                return point
        for _ in range(_ATTEMPTS):
            if (point := self._anywhere()) not in self._seen:
                return point
        return next((point for point in product(*map(range, self.extents)) if point not in self._seen), None)

    @abstractmethod
    def _propose(self) -> Point | None:
        """Return a point, or None when there is nothing left."""

    def _learn(self, point: Point, cost: float) -> None:
        """Use a cost for later proposals."""
        return

    def _anywhere(self) -> Point:
        return tuple(int(self.random.integers(extent)) for extent in self.extents)


class GridSearch(Strategy):
    """All points in order; the last dimension changes fastest."""

    def __init__(self, extents: tuple[int, ...], seed: int = 0) -> None:
        super().__init__(extents, seed)
        self._points: Iterator[Point] = product(*map(range, extents))

    def _propose(self) -> Point | None:
        return next((point for point in self._points if point not in self._seen), None)


class RandomSearch(Strategy):
    """Points drawn uniformly."""

    def _propose(self) -> Point:
        return self._anywhere()


class OneByOne(Strategy):
    """The values of one dimension after another, in order, each from the best point so far."""

    def __init__(self, extents: tuple[int, ...], seed: int = 0) -> None:
        super().__init__(extents, seed)
        self._best, self._cost = (0,) * len(extents), 1.0
        self._seen.add(self._best)
        self._told = {self._best}
        self._dimension = 0

    def _propose(self) -> Point | None:
        while self._dimension < len(self.extents):
            for place in range(self.extents[self._dimension]):
                point = (*self._best[: self._dimension], place, *self._best[self._dimension + 1 :])
                if point not in self._seen:
                    return point
            if self._seen != self._told:
                return None  # what the best is depends on costs that are not known yet
            self._dimension += 1
        return None

    def _learn(self, point: Point, cost: float) -> None:
        self._told.add(point)
        if cost < CLEARLY * self._cost:
            self._best, self._cost = point, cost


class GeneticSearch(Strategy):
    """Candidates bred from the fittest (Tensor Comprehensions, section 6).

    Fitness is inversely proportional to cost. Each gene of a child comes from one of three parents, any of them with
    the same probability (uniform crossover); parents are drawn with a probability proportional to their fitness
    (roulette); each gene is set anew with a low probability (mutation). The fittest stay in the population (elitism)
    for as long as nothing fitter replaces them.
    """

    population = 16
    mutation = 0.1
    _PARENTS = 3

    def __init__(self, extents: tuple[int, ...], seed: int = 0) -> None:
        super().__init__(extents, seed)
        self._fitness: dict[Point, float] = {}

    def _learn(self, point: Point, cost: float) -> None:
        self._fitness[point] = 0.0 if math.isinf(cost) else 1.0 / cost
        fittest = sorted(self._fitness, key=lambda each: -self._fitness[each])[: self.population]
        self._fitness = {each: self._fitness[each] for each in fittest}

    def _propose(self) -> Point:
        able = [point for point, fitness in self._fitness.items() if fitness > 0]
        if len(able) < self._PARENTS:
            return self._anywhere()
        parents = self._roulette(able)
        chosen = self.random.integers(self._PARENTS, size=len(self.extents))
        mutated = self.random.random(len(self.extents)) < self.mutation
        fresh = self._anywhere()
        return tuple(
            fresh[gene] if mutated[gene] else parents[chosen[gene]][gene] for gene in range(len(self.extents))
        )

    def _roulette(self, able: list[Point]) -> list[Point]:
        """Return three parents, drawn with the probability of their fitness less nine tenths of the lowest."""
        fitness = np.array([self._fitness[point] for point in able])
        wheel = fitness - 0.9 * fitness.min()
        drawn = self.random.choice(len(able), self._PARENTS, p=wheel / wheel.sum())
        return [able[place] for place in drawn]


def _optuna(extents: tuple[int, ...], seed: int) -> Strategy:
    try:
        from ragged.tuning.optuna_search import OptunaSearch  # here: it is an extra
    except ImportError as error:
        raise UserError(
            "tune: strategy='optuna' needs Optuna", fix="pip install 'cortex-compiler[optuna]', or 'genetic'"
        ) from error
    return OptunaSearch(extents, seed)


Maker: TypeAlias = Callable[[tuple[int, ...], int], Strategy]
"""Makes a strategy for the extents of a space and a seed."""
StrategyLike: TypeAlias = str | Maker

STRATEGIES: dict[str, Maker] = {
    "genetic": GeneticSearch,
    "random": RandomSearch,
    "grid": GridSearch,
    "one by one": OneByOne,
    "optuna": _optuna,
}


def strategy_of(given: StrategyLike, extents: tuple[int, ...], seed: int) -> Strategy:
    """Return the strategy of a name, or what a function makes; raises `UserError` for a name that is not known."""
    if callable(given):
        return given(extents, seed)
    if given not in STRATEGIES:
        raise UserError(f"tune: no strategy is called {given!r}", fix=f"one of {', '.join(STRATEGIES)}")
    return STRATEGIES[given](extents, seed)
