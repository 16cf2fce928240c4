"""Recursive refactoring: what moves to the child, what is refused and why, and that results stay."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import cortex
from cortex import Node, models, ra
from cortex.ra.schedule import default_schedule
from ragged.errors import ModelError, ScheduleError
from tests.support.random_cells import cells
from tests.support.random_structures import batches
from tests.support.scheduled import check_schedule, some_structures, take, tensor
from tests.test_random_models import cases, check_machine_code, most

N, K, H, E, V = ra.N, ra.K, 3, 2, 7

LIBRARY = {
    "tree_fc": (models.tree_fc(H, V), {"Wl", "Wr"}),
    "tree_rnn": (models.tree_rnn(H, E, V), {"Uh"}),
    "tree_lstm": (models.tree_lstm(H, E, V), {"Uh_o", "Uh_i", "Uh_u", "Uh_f"}),
    "nary_tree_lstm": (
        models.nary_tree_lstm(H, E, V),
        {f"Uh_{gate}_{at}" for gate in ("o", "i", "u", "f_0", "f_1") for at in (0, 1)},
    ),
    "tree_gru": (models.tree_gru(H, E, V), {"Uh_r", "Uh_z"}),
    "simple_tree_gru": (models.simple_tree_gru(H, E, V), {"Uh_r", "Uh_z"}),
    "lstm": (models.lstm(H, E, V), {"Uh_o", "Uh_i", "Uh_u", "Uh_f"}),
    "gru": (models.gru(H, E, V), {"Uh_r", "Uh_z"}),
    "mv_rnn": (models.mv_rnn(H, V), {"WM_l", "WM_r"}),
    "dag_rnn": (models.dag_rnn(H, E), set()),
}
"""Each model of the library, and the operators that it may be refactored at."""


def refactored(model, *names):
    schedule = ra.Schedule(model)
    for name in names:
        schedule.refactor(tensor(model, name))
    return schedule


DEFAULT = (("dynamic_batch",), ("specialize_leaves",), ("hoist_inputs",))


# --- the library ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIBRARY)
def test_the_operators_of_the_library(name):
    model, legal = LIBRARY[name]
    accepted = set()
    for body in model.computes:
        schedule = ra.Schedule(model)
        try:
            schedule.refactor(body)
        except ScheduleError:
            assert schedule.model is model and schedule.log() == "", "a refusal leaves the schedule as it was"
            continue
        accepted.add(model.name(body))
        assert schedule.model.plan() == model.plan()
        assert list(schedule.model.results) == list(model.outputs)
    assert accepted == legal


@pytest.mark.parametrize("name", [name for name in LIBRARY if name != "dag_rnn"])
def test_refactored_at_every_operator_it_computes_the_same(name):
    model, legal = LIBRARY[name]
    params, batch = model.init_params(seed=1), some_structures(model)
    expected = ra.evaluate(model, params, batch)
    for names in (*((one,) for one in sorted(legal)[:2]), sorted(legal)):
        check_schedule(refactored(model, *names), params, batch, expected, f"{names}")
        schedule = take(refactored(model, *names), DEFAULT)
        check_schedule(schedule, params, batch, expected, f"{names}, default")
        before = take(ra.Schedule(model), DEFAULT)
        for one in names:
            before.refactor(tensor(model, one))
        assert str(before.lower()) == str(schedule.lower()), "in any order"


def test_compiled_it_agrees_with_the_oracle():
    model = models.simple_tree_gru(H, E, V)
    schedule = default_schedule(model)
    schedule.refactor(tensor(model, "Uh_r"))
    schedule.refactor(tensor(model, "Uh_z"))
    params, batch = model.init_params(seed=2), some_structures(model)
    function = cortex.compile(schedule, params, threads=2)
    assert list(function(batch)) == ["h"]
    check_machine_code(function, batch, ra.evaluate(model, params, batch), "refactored")


# --- what is printed ------------------------------------------------------------------------------------------


def test_the_model_and_the_program_show_what_moved(golden):
    schedule = refactored(models.simple_tree_gru(4, input="projected"), "Uh_r", "Uh_z")
    schedule.dynamic_batch()
    schedule.specialize_leaves()
    golden("refactored_simple_tree_gru.txt", f"{schedule.model}\n\n{schedule.lower()}")


def test_a_branch_of_the_model_before_may_still_be_named():
    model = models.tree_fc(H, V)
    schedule = refactored(model, "Wl")
    schedule.specialize_if_else(tensor(model, "h"))
    schedule.refactor(tensor(model, "Wr"))
    assert schedule.specialized
    assert schedule.log() == "s.refactor(Wl)\ns.specialize_if_else(h)\ns.refactor(Wr)"


def test_steps_in_between_move_too():
    ph = ra.placeholder((N, H))
    A, B = ra.input_tensor("A", (H, H)), ra.input_tensor("B", (H, H))
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: ph[k, i]), name="hs")
    first = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: A[i, j] * hs[n, j]), name="first")
    second = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: B[i, j] * first[n, j]), name="second")
    x = ra.node_input("x", (H,))
    model = ra.recursion_op(ph, ra.compute((N, H), lambda n, i: ra.tanh(second[n, i] + x[n, i]), name="h"))
    schedule = refactored(model, "second")
    assert [schedule.model.name(body) for body in schedule.model.computes] == [
        "second",
        "h",
        "first_up",
        "second_up",
    ]
    assert schedule.finite == {"A", "B"}


def test_what_is_left_out_at_leaves_has_to_be_finite():
    model = models.tree_rnn(H, E, V)
    params = model.init_params(seed=0)
    params["U"][0, 0] = np.inf
    schedule = refactored(model, "Uh")
    assert schedule.finite == {"U"}
    with pytest.raises(ModelError, match="'U'"):
        cortex.compile(schedule, params)


# --- anything -------------------------------------------------------------------------------------------------


def check_all(draw, model, params, batch, expected):
    """Refactor at operators in any order, between other steps in any order."""
    steps = draw(st.permutations([*DEFAULT, *(("refactor", body) for body in model.computes)]))
    schedule = take(ra.Schedule(model), steps)
    hypothesis.event(f"{schedule.log().count('refactor')} refactored")
    check_schedule(schedule, params, batch, expected, schedule.log())


def same_for_one_child(draw, ways, H):
    """Return the next step of a computation on what one child returned, or on a sum: linear, or any other."""
    W, b = ra.input_tensor(f"W{len(ways)}", (H, H)), ra.input_tensor(f"b{len(ways)}", (H,))
    read = ways[-1]
    linear = [
        lambda at, i: ra.sum(H, lambda j: W[i, j] * read(at, j)),
        lambda at, i: b[i] * read(at, i) - read(at, i),
    ]
    other = [lambda at, i: ra.tanh(read(at, i)) + b[i], lambda at, i: read(at, i) * read(at, i)]
    return draw(st.sampled_from(linear)), draw(st.sampled_from([*linear, *other]))


@st.composite
def movable(draw):
    """Draw a model, and an operator of it that can move: of a sum, of one child, or of each."""
    ph = ra.placeholder((N, H), name="h_ph", default=draw(st.sampled_from([None, 0.0])))
    x = ra.node_input("x", (H,))
    of = draw(st.sampled_from(["sum", "left", "each"]))
    first = {
        "sum": lambda n, i: ra.sum_children(n, lambda k: ph[k, i]),
        "left": lambda n, i: ph[n.left, i],
        "each": lambda n, k, i: ph[k, i],
    }[of]
    shape = (N, K, H) if of == "each" else (N, H)
    made = [ra.compute(shape, first, name="v0")]
    for step in range(draw(st.integers(1, 3))):
        source = made[-1]
        ways = [lambda at, i, source=source: source[(*at, i)]] * (step + 1)
        linear, any_other = same_for_one_child(draw, ways, H)
        way = linear if of == "sum" or (of == "left" and ph.default is not None) else any_other
        made.append(ra.compute(shape, lambda *at, way=way: way(at[:-1], at[-1]), name=f"v{step + 1}"))
    op = made[-1]
    total = (
        (lambda n, i: ra.sum_children(n, lambda k: op[n, k, i])) if of == "each" else lambda n, i: op[n, i]
    )
    rec = ra.compute((N, H), lambda n, i: ra.tanh(total(n, i) + x[n, i]), name="rec")
    leaf = ra.compute((N, H), lambda n, i: x[n, i], name="leaf")
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="h")
    structure = draw(st.sampled_from([ra.Tree(), ra.Sequence()]))
    return ra.recursion_op(ph, body, structure=structure), op


@hypothesis.given(st.data(), movable())
def test_what_is_linear_or_of_one_child_moves(data, drawn):
    model, op = drawn
    params = model.init_params(seed=data.draw(st.integers(0, 3)))
    batch = data.draw(batches(model.plan()))
    schedule = ra.Schedule(model)
    schedule.refactor(op)
    steps = data.draw(st.permutations([*DEFAULT, ("specialize_if_else", tensor(model, "h")), ("unroll", 1)]))
    check_schedule(take(schedule, steps), params, batch, ra.evaluate(model, params, batch), schedule.log())


@most(0.2)
@hypothesis.given(cases(), st.data())
def test_models_of_every_kind(case, data):
    check_all(data.draw, *case)


@hypothesis.given(st.data(), cells())
def test_cells(data, model):
    params = model.init_params(seed=data.draw(st.integers(0, 3)))
    batch = data.draw(batches(model.plan()))
    check_all(data.draw, model, params, batch, ra.evaluate(model, params, batch))


def test_a_node_of_many_children():
    model = models.tree_lstm(H, input="vector", embed=E)
    params = model.init_params(seed=3)
    x = np.ones(E, np.float32)
    batch = [Node([Node([], x=x) for _ in range(50)], x=x), Node([], x=x)]
    schedule = refactored(model, "Uh_f", "Uh_i")
    check_schedule(schedule, params, batch, ra.evaluate(model, params, batch), "wide")
