"""compute_once: what one child gives is computed at the child, for all of its parents."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from bench.cells import gated_dag
from cortex import Node, models, ra
from cortex.ra.schedule import default_schedule
from ragged.errors import ScheduleError
from tests.support.scheduled import check_schedule, take, tensor
from tests.test_random_models import check_machine_code

N, K, H = ra.N, ra.K, 3
DEFAULT = (("dynamic_batch",), ("specialize_leaves",), ("hoist_inputs",))
DAG = gated_dag(H, 0)


def dags():
    """Return a few DAGs of nodes that are shared by one to four parents each."""
    random = np.random.default_rng(3)

    def node(*children):
        return Node(
            children, **{f"x_{letter}": random.standard_normal(H).astype(np.float32) for letter in "zue"}
        )

    a, b = node(), node()
    c, d = node(a, b), node(b)
    return [node(c, d, b), node(), node(c, node(a, c)), node(node(node(d)))]


def moved(model, name):
    schedule = ra.Schedule(model)
    schedule.compute_once(tensor(model, name))
    return schedule


def test_the_model_shows_what_moved(golden):
    schedule = moved(gated_dag(4, 0), "below")
    assert schedule.log() == "s.compute_once(below)"
    assert list(schedule.model.results) == ["h"]
    schedule.dynamic_batch()
    golden("compute_once_gated_dag.txt", f"{schedule.model}\n\n{schedule.lower()}")


@pytest.mark.parametrize("steps", [(), (("dynamic_batch",),), DEFAULT[:2]])
def test_over_a_dag_it_computes_the_same(steps):
    params, batch = DAG.init_params(seed=1), dags()
    expected = ra.evaluate(DAG, params, batch)
    check_schedule(take(moved(DAG, "below"), steps), params, batch, expected, f"{steps}")


@pytest.mark.parametrize("name", ["Uh_f"])
def test_over_a_tree_it_is_the_refactoring(name):
    model = models.tree_lstm(H, 2, 7)
    other = ra.Schedule(model)
    other.refactor(tensor(model, name))
    assert str(moved(model, name).model) == str(other.model)


def test_the_default_schedule_of_a_dag_computes_products_once_and_keeps_bits():
    schedule = default_schedule(DAG)
    assert schedule.log().splitlines()[0] == "s.compute_once(below)"
    params, batch = DAG.init_params(seed=2), dags()
    once = cortex.compile(DAG, params, threads=2)
    expected = ra.evaluate(DAG, params, batch)
    check_machine_code(once, batch, expected, "once")
    each = ra.Schedule(DAG)
    take(each, DEFAULT[:2])
    for a, b in zip(cortex.compile(each, params)(batch).nodes("h"), once(batch).nodes("h"), strict=True):
        assert (a == b).all()


def test_a_model_over_trees_has_nothing_that_several_parents_take():
    assert "compute_once" not in default_schedule(models.tree_lstm(H, 2, 7)).log()


MOVES = "compute_once: '{}' cannot move to the child\n  because: "


def test_refusals():
    def refused(model, name):
        schedule = ra.Schedule(model)
        with pytest.raises(ScheduleError) as error:
            schedule.compute_once(tensor(model, name))
        assert schedule.model is model and schedule.log() == ""
        return "\n".join(line for line in str(error.value).splitlines() if not line.startswith("  at "))

    lstm = models.tree_lstm(H, 2, 7)
    assert refused(lstm, "Uh_o") == (
        MOVES.format("Uh_o") + "it takes in the sum over all children, not one of them"
    )
    own = "it is of the node itself, which its children do not know"
    assert refused(DAG, "e") == MOVES.format("e") + f"'x_e[n, i]': {own}"
    with pytest.raises(ScheduleError, match=r"^compute_once: 'Uh_o' is not a tensor of this model"):
        ra.Schedule(DAG).compute_once(tensor(lstm, "Uh_o"))
    twice = moved(DAG, "below")
    with pytest.raises(ScheduleError) as error:
        twice.compute_once(tensor(DAG, "below"))
    assert "compute_once: there is nothing of 'below' to move" in str(error.value)
