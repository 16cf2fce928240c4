"""Search strategies on costs that are a formula: none repeats a point, and those that learn find better ones."""

import math

import numpy as np
import pytest

from ragged.errors import UserError
from ragged.tuning.strategies import STRATEGIES, GeneticSearch, strategy_of

EXTENTS = (7, 6, 5, 4, 3)


def cost(point):
    """Separable with an optimum at (3, 2, 1, 1, 0); the first dimension's last value is refused."""
    if point[0] == EXTENTS[0] - 1:
        return math.inf
    return 1 + sum((place - best) ** 2 for place, best in zip(point, (3, 2, 1, 1, 0), strict=True))


def search(name, tries, extents=EXTENTS, seed=0, of=cost):
    strategy, found = strategy_of(name, extents, seed), []
    while len(found) < tries and (points := strategy.ask(8)):
        for point in points:
            strategy.tell(point, of(point))
        found += points
    return found


EXHAUSTIVE = [name for name in STRATEGIES if name != "one by one"]


@pytest.mark.parametrize("name", EXHAUSTIVE)
def test_no_point_comes_twice_and_all_come_once(name):
    found = search(name, 1000, extents=(3, 2, 2), of=sum_of)
    assert sorted(found) == sorted(np.ndindex(3, 2, 2))


def sum_of(point):
    return 1.0 + sum(point)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_seed_decides_all(name):
    assert search(name, 40) == search(name, 40)


@pytest.mark.parametrize("name", EXHAUSTIVE)
def test_what_is_known_from_elsewhere_is_not_asked_for(name):
    strategy = strategy_of(name, (2, 2), 0)
    for point in ((0, 0), (1, 1)):
        strategy.tell(point, 1.0)
    assert sorted(strategy.ask(9)) == [(0, 1), (1, 0)]
    assert strategy.ask(1) == []


def test_one_by_one_goes_on_from_the_best_value_of_each_dimension():
    costs = {(1, 0, 0): 0.9, (2, 0, 0): 0.8, (2, 1, 0): 0.79, (2, 0, 1): math.inf, (2, 0, 2): 0.7}
    found = search("one by one", 1000, extents=(3, 2, 3), of=lambda point: costs[point])
    assert found == list(costs)  # 0.79 is not clearly less than 0.8


def test_one_by_one_waits_for_the_costs_of_a_dimension():
    strategy = strategy_of("one by one", (2, 3), 0)
    strategy.tell((0, 0), 1.0)  # what records say of the default
    assert strategy.ask(9) == [(1, 0)]
    assert strategy.ask(9) == []
    strategy.tell((1, 0), 0.5)
    assert strategy.ask(1) == [(1, 1)]
    strategy.tell((1, 2), 0.4)  # known from elsewhere
    strategy.tell((1, 1), 0.6)
    assert strategy.ask(9) == []


@pytest.mark.parametrize("name", ["genetic", "optuna"])
def test_learning_beats_drawing(name):
    def best_of(name, seed):
        return min(map(cost, search(name, tries, seed=seed)))

    tries, seeds = (120, range(6)) if name == "genetic" else (60, range(2))
    learnt, drawn = (np.mean([best_of(each, seed) for seed in seeds]) for each in (name, "random"))
    assert learnt < drawn and learnt <= 3


def test_children_have_genes_of_three_parents_alone_without_mutation():
    class Unmutated(GeneticSearch):
        mutation = 0.0

    strategy = Unmutated((9, 9, 9), 0)
    for point in ((1, 1, 1), (2, 2, 2), (3, 3, 3)):
        strategy.tell(point, 1.0)
    children = strategy.ask(20)
    assert len(children) > 15 and all(set(child) <= {1, 2, 3} for child in children[:15])
    assert any(len(set(child)) == 3 for child in children)


def test_the_fittest_stay_in_the_population():
    strategy = GeneticSearch((100, 100), 0)
    for number in range(60):
        strategy.tell((number, 0), 1.0 + number)
    assert sorted(strategy._fitness) == [(number, 0) for number in range(strategy.population)]


def test_a_strategy_that_is_not_known():
    with pytest.raises(UserError, match="no strategy is called 'luck'"):
        strategy_of("luck", (2,), 0)
