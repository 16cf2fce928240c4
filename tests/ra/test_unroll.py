"""Unrolling: several heights in one step, with the same results; and where it is refused."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import cortex
from cortex import Node, models, ra
from cortex.linearize import linearize
from ragged.errors import DataError, ScheduleError
from tests.support.agreement import interpreted
from tests.support.random_cells import cells
from tests.support.random_structures import batches
from tests.support.scheduled import check_schedule, some_structures, take, tensor
from tests.test_random_models import cases, check_machine_code, most

N, H, E, V = ra.N, 3, 2, 7

LIBRARY = {
    "tree_sum": models.tree_sum(H, V),
    "tree_fc": models.tree_fc(H, V),
    "tree_rnn": models.tree_rnn(H, E, V),
    "tree_lstm": models.tree_lstm(H, E, V),
    "nary_tree_lstm": models.nary_tree_lstm(H, E, V),
    "tree_gru": models.tree_gru(H, E, V),
    "simple_tree_gru": models.simple_tree_gru(H, E, V),
    "lstm": models.lstm(H, E, V),
    "gru": models.gru(H, E, V),
    "mv_rnn": models.mv_rnn(2, V),
}
DEFAULT = (("dynamic_batch",), ("specialize_leaves",), ("hoist_inputs",))


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", LIBRARY)
def test_the_library(name, depth):
    model = LIBRARY[name]
    params, batch = model.init_params(seed=1), some_structures(model)
    expected = ra.evaluate(model, params, batch)
    for steps in (DEFAULT[:1], DEFAULT):
        schedule = take(ra.Schedule(model), [*steps, ("unroll", depth)])
        assert schedule.log().endswith(f"s.unroll({depth})")
        assert schedule.plan().unrolled == depth and model.plan().unrolled == 0
        check_schedule(schedule, params, batch, expected, f"{steps}, unrolled by {depth}")


@pytest.mark.parametrize("depth", [1, 2, 3, 40])
def test_chains_stars_and_empty_batches(depth):
    model = models.tree_rnn(H, E, input="vector")
    params = model.init_params(seed=2)
    x = np.ones(E, np.float32)
    chain = Node([], x=x)
    for _ in range(25):
        chain = Node([Node([], x=x), chain], x=x)
    star = Node([Node([Node([], x=x)], x=x) for _ in range(20)], x=x)
    schedule = take(ra.Schedule(model), [*DEFAULT, ("unroll", depth)])
    for batch in ([chain, star, Node([], x=x)], [], [Node([], x=x)]):
        check_schedule(schedule, params, batch, ra.evaluate(model, params, batch), f"{depth}")


@pytest.mark.parametrize("refactored", [(), ("Uh_r", "Uh_z")], ids=["alone", "refactored"])
def test_compiled_it_agrees_with_the_oracle(refactored, tmp_path):
    model = models.tree_gru(H, E, V)
    steps = [*DEFAULT, ("unroll", 1), *(("refactor", tensor(model, name)) for name in refactored)]
    schedule = take(ra.Schedule(model), steps)
    params, batch = model.init_params(seed=3), some_structures(model)
    expected = ra.evaluate(model, params, batch)
    function = cortex.compile(schedule, params, threads=2)
    function.save(tmp_path / "unrolled.cortex")
    for one in (function, cortex.load(tmp_path / "unrolled.cortex")):
        check_machine_code(one, batch, expected, "unrolled")


@pytest.mark.parametrize(("name", "depth"), [("tree_sum", 2), ("tree_fc", 1), ("gru", 1), ("tree_gru", 1)])
def test_tops_are_shared_out(name, depth):
    model = LIBRARY[name]
    schedule = take(ra.Schedule(model), [*DEFAULT, ("unroll", depth)])
    params, batch = model.init_params(seed=4), some_structures(model)
    function = cortex.compile(schedule, params, threads=2)
    assert "s.apply(distribute_over_team)" in function.show("schedule")
    assert "kept:" not in function.show("checks")
    check_machine_code(function, batch, ra.evaluate(model, params, batch), name)


def test_what_makes_tops_independent_is_checked():
    model = LIBRARY["tree_sum"]
    schedule = take(ra.Schedule(model), [("dynamic_batch",), ("unroll", 1)])
    function = cortex.compile(schedule, model.init_params(seed=5), threads=2)
    right = function.linearize([((1, 2), (3, (4, 5))), ((1, 2), (3, 4))])
    function(right)
    for name, value in (("step_group", 0), ("height", 7), ("step_top", 3)):
        values = getattr(right, name)
        for place in range(right.num_inner if name != "step_top" else right.num_tops):
            wrong = values.copy()
            wrong[place] = value if wrong[place] != value else value + 1
            with pytest.raises(DataError):
                function(right.replace(**{name: wrong}))


def test_the_program_shows_the_steps(golden):
    schedule = take(ra.Schedule(models.tree_sum(4, 10)), [("dynamic_batch",), ("unroll", 1)])
    golden("unrolled_tree_sum.txt", str(schedule.lower()))


def test_there_are_fewer_steps_than_batches():
    model = LIBRARY["lstm"]
    schedule = take(ra.Schedule(model), [*DEFAULT, ("unroll", 3)])
    linearized = linearize(schedule.plan(), [np.arange(7)] * 2)
    assert (linearized.num_batches, linearized.num_steps, linearized.num_tops) == (7, 2, 4)
    assert linearized.step_top.tolist() == [4, 5, 0, 1]


def test_a_node_that_comes_too_late_is_noticed():
    """The check that stands at a step's last level: a step that is deeper than it was unrolled does not go on."""
    model = LIBRARY["gru"]
    one, three = (take(ra.Schedule(model), [*DEFAULT, ("unroll", depth)]) for depth in (1, 3))
    linearized = linearize(three.plan(), [np.arange(6)])
    with pytest.raises(Exception, match="is computed too late for its parent"):
        interpreted(one.lower(), linearized, model.init_params(seed=0))


# --- refusals -------------------------------------------------------------------------------------------------

REFUSED = {
    "dag": (
        models.dag_rnn(H, E),
        [("dynamic_batch",)],
        1,
        "unroll: the model runs over a Dag\n"
        "  because: a node that several parents share would be computed again for each (CORTEX, section 3.1)\n"
        "  fix: unroll models over ra.Tree() and ra.Sequence()",
    ),
    "depth": (
        LIBRARY["tree_fc"],
        [("dynamic_batch",)],
        0,
        "unroll: 0 is no depth\n"
        "  because: a step holds a node and so many levels of its descendants\n"
        "  fix: a whole number from 1 on",
    ),
    "order": (
        LIBRARY["tree_fc"],
        [],
        1,
        "unroll: the nodes are not batched\n"
        "  because: a step takes several batches at once, and nodes run one after another\n"
        "  fix: dynamic_batch first",
    ),
    "twice": (
        LIBRARY["tree_fc"],
        [("dynamic_batch",), ("unroll", 2)],
        1,
        "unroll: the recursion is unrolled by 2 already\n"
        "  fix: ask for it once, with the depth that you need",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    model, steps, depth, message = REFUSED[name]
    schedule = take(ra.Schedule(model), steps)
    before = str(schedule.lower())
    with pytest.raises(ScheduleError) as caught:
        schedule.unroll(depth)
    first, place, *rest = str(caught.value).splitlines()
    assert place.startswith("  at test_unroll.py:")
    assert "\n".join([first, *rest]) == message
    assert str(schedule.lower()) == before and len(schedule.log().splitlines()) == len(steps)


# --- anything -------------------------------------------------------------------------------------------------


def check_all(draw, model, params, batch, expected):
    """Unroll and refactor, between other steps in any order."""
    depth = draw(st.integers(1, 3))
    others = [*DEFAULT[1:], *(("refactor", body) for body in model.computes)]
    steps = draw(st.permutations([*DEFAULT[:1], *others, ("unroll", depth)]))
    schedule = take(ra.Schedule(model), [*steps, ("unroll", depth)])
    hypothesis.event("unrolled" if schedule.plan().unrolled else "refused")
    assert bool(schedule.plan().unrolled) is not isinstance(model.structure, ra.Dag)
    check_schedule(schedule, params, batch, expected, schedule.log())


@most(0.5)
@hypothesis.given(cases(), st.data())
def test_models_of_every_kind(case, data):
    check_all(data.draw, *case)


@hypothesis.given(st.data(), cells())
def test_cells(data, model):
    params = model.init_params(seed=data.draw(st.integers(0, 3)))
    batch = data.draw(batches(model.plan()))
    check_all(data.draw, model, params, batch, ra.evaluate(model, params, batch))
