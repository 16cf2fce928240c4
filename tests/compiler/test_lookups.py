"""Tables that are read under guards, or by the number of children: whatever a guard allows is in bounds."""

import numpy as np
import pytest

import cortex
from cortex import ra
from ragged.errors import DataError, ScheduleError

N, H = ra.N, 3


def model_of(value, structure=None):
    """Return a model that adds `value(n, i)` to the sum over children."""
    h_ph = ra.placeholder((N, H))
    h = ra.compute((N, H), lambda n, i: ra.tanh(value(n, i) + ra.sum_children(n, lambda k: h_ph[k, i])))
    return ra.recursion_op(h_ph, h, structure=structure)


def agree(model, trees, **options):
    params = model.init_params()
    found = cortex.compile(model, params, **options)(trees)["h"]
    want = [ra.evaluate(model, params, tree)["h"][-1] for tree in trees]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("options", [{}, {"schedule": None}], ids=["scheduled", "as written"])
def test_a_vocabulary_in_two_tables(dtype, options):
    word = ra.node_input("word", dtype=dtype)
    first, second = ra.input_tensor("first", (5, H)), ra.input_tensor("second", (6, H))
    model = model_of(lambda n, i: ra.where(word[n] < 5, first[word[n], i], second[word[n] - 5, i]))
    agree(model, [cortex.Node([cortex.Node(word=w)], word=10 - w) for w in range(11)], **options)
    for outside in (-1, 11):
        with pytest.raises(DataError, match=f"payload `word` is {outside}, outside 0 <= word < 11"):
            agree(model, [cortex.Node(word=outside)], **options)


def steps(*names):
    """Return what schedules a model by these steps."""

    def scheduled(model):
        schedule = ra.Schedule(model)
        for name in names:
            getattr(schedule, name)()
        return schedule

    return scheduled


@pytest.fixture(scope="module")
def three_kinds():
    """Return a model with a table for each of three ranges of `kind`; the first has a product that is made of it."""
    kind, mode = ra.node_input("kind", dtype="int32"), ra.node_input("mode", dtype="int32")
    tables = [ra.input_tensor(f"table{rows}", (rows, H)) for rows in (3, 7, 2)]
    weights, h_ph = ra.input_tensor("W", (H, H)), ra.placeholder((N, H))
    looked_up = ra.compute((N, H), lambda n, i: tables[0][kind[n], i] * 2.0)
    product = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: weights[i, j] * looked_up[n, j]))
    shifted = ra.compute((N, H), lambda n, i: product[n, i] + 1.0)
    first = ra.if_then_else((N, H), lambda n, i: (mode[n] < 1, product, shifted))
    second = ra.compute(
        (N, H), lambda n, i: tables[1][kind[n] - 3, i] + ra.sum_children(n, lambda k: h_ph[k, i])
    )
    third = ra.compute((N, H), lambda n, i: tables[2][kind[n] - 10, i])
    others = ra.if_then_else((N, H), lambda n, i: (kind[n] < 10, second, third))
    return ra.recursion_op(h_ph, ra.if_then_else((N, H), lambda n, i: (kind[n] < 3, first, others)))


@pytest.mark.parametrize(
    ("scheduled", "options"),
    [
        (lambda model: model, {}),
        (lambda model: model, {"table_bytes": 1 << 20}),
        (steps(), {}),
        (steps("dynamic_batch"), {}),
    ],
    ids=["default", "tables", "as written", "batched"],
)
def test_branches_look_up_what_their_conditions_allow(three_kinds, scheduled, options):
    params = three_kinds.init_params()
    function = cortex.compile(scheduled(three_kinds), params, **options)
    kinds = [cortex.Node(kind=kind, mode=kind % 2) for kind in range(12)]
    trees = [*kinds, *(cortex.Node(kinds[: kind % 4], kind=kind, mode=0) for kind in range(12))]
    want = [ra.evaluate(three_kinds, params, tree)["h"][-1] for tree in trees]
    np.testing.assert_allclose(function(trees)["h"], want, rtol=1e-5, atol=1e-6)
    for outside in (-1, 12):
        with pytest.raises(DataError, match=f"payload `kind` is {outside}, outside 0 <= kind < 12"):
            function(cortex.Node(kind=outside, mode=0))


def test_a_branch_keeps_a_default_from_a_table():
    word, table = ra.node_input("word", dtype="int32", default=-1), ra.input_tensor("table", (5, H))
    given = ra.compute((N, H), lambda n, i: table[word[n], i])
    none = ra.compute((N, H), lambda n, i: 0.25)
    chosen = ra.if_then_else((N, H), lambda n, i: (word[n] >= 0, given, none))
    agree(model_of(lambda n, i: chosen[n, i]), [cortex.Node([cortex.Node(word=4), cortex.Node()])])


def test_what_a_branch_chooses_by_a_payload_is_computed_nowhere_else(three_kinds):
    with pytest.raises(ScheduleError, match="nothing to hoist"):
        steps("dynamic_batch", "hoist_inputs")(three_kinds)
    for compute in three_kinds.computes[:2]:  # of the table, and the product that is made of it
        with pytest.raises(ScheduleError, match=r"a branch chooses by 'kind'|takes in more than parameters"):
            ra.Schedule(three_kinds).tabulate(compute)


def test_a_compute_of_two_branches_looks_up_what_both_allow():
    kind, table = ra.node_input("kind", dtype="int32"), ra.input_tensor("table", (8, H))
    value = ra.compute((N, H), lambda n, i: table[kind[n] - 2, i])
    minus = ra.compute((N, H), lambda n, i: -value[n, i])
    zero = ra.compute((N, H), lambda n, i: 0.5)
    high = ra.if_then_else((N, H), lambda n, i: (kind[n] >= 6, minus, zero))
    chosen = ra.if_then_else((N, H), lambda n, i: ((kind[n] < 5) & (kind[n] >= 2), value, high))
    model = model_of(lambda n, i: chosen[n, i])
    agree(model, [cortex.Node([cortex.Node(kind=k)], kind=9 - k) for k in range(10)])
    with pytest.raises(DataError, match="payload `kind` is 10, outside 0 <= kind < 10"):
        agree(model, [cortex.Node(kind=10)])
    everywhere = model_of(lambda n, i: chosen[n, i] + value[n, i])
    with pytest.raises(DataError, match="payload `kind` is 1, outside 2 <= kind < 10"):
        agree(everywhere, [cortex.Node(kind=1)])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_words_without_an_embedding(dtype):
    word, table = ra.node_input("word", dtype=dtype), ra.input_tensor("table", (5, H))
    above = model_of(lambda n, i: ra.where(word[n] < 5, table[word[n], i], 0.5))
    agree(above, [cortex.Node(word=w) for w in (0, 4, 5, 2**31 - 2)])
    below = model_of(lambda n, i: ra.where(word[n] >= 10, table[word[n] - 10, i], 0.5))
    agree(below, [cortex.Node(word=w) for w in (10, 14, 0, 9)])
    for outside in (-1, 15):
        with pytest.raises(DataError, match=f"payload `word` is {outside}, outside 0 <= word < 15"):
            agree(below, [cortex.Node(word=outside)])


def trees():
    node = cortex.Node
    return [node(), node([node()]), node([node(), node([node(), node(), node()]), node()])]


def test_a_table_by_the_number_of_children():
    table = ra.input_tensor("table", (4, H))
    agree(model_of(lambda n, i: table[ra.num_children(n), i], ra.Tree(max_children=3)), trees())
    guarded = model_of(
        lambda n, i: ra.where(ra.num_children(n) < 4, table[ra.num_children(n), i], 0.5), ra.Tree()
    )
    agree(guarded, [*trees(), cortex.Node([cortex.Node() for _ in range(6)])])
    nowhere = lambda n, i: ra.where(  # noqa: E731
        (ra.num_children(n) == 3) | (ra.num_children(n) != 3), 0.5, table[ra.num_children(n), i]
    )
    agree(model_of(nowhere), trees())
    with pytest.raises(cortex.ModelError, match="may leave dimension 0 of 'table'"):
        model_of(lambda n, i: table[ra.num_children(n), i], ra.Tree(max_children=4))
