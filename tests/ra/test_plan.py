"""What a model asks of the structures that it is given."""

import numpy as np
import pytest

import cortex
from cortex import Node, ra
from cortex.ilir.plan import Payload, Plan, Presence, StructureKind
from ragged.errors import DataError, ModelError
from ragged.ir.dtype import DType

N, K, H, V = ra.N, ra.K, 4, 9


class Language:
    """The tensors that the models below are made of, anew for each."""

    def __init__(self):
        self.x = ra.node_input("x", (H,))
        self.word = ra.node_input("word", dtype="int32")
        self.emb = ra.input_tensor("emb", (V, H))
        self.h_ph = ra.placeholder((N, H))
        self.hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: self.h_ph[k, i]))

    def close(self, function, structure=None):
        h = ra.compute((N, H), lambda n, i: function(n, i) + self.hs[n, i])
        return ra.recursion_op(self.h_ph, h, structure=structure).plan()

    def split(self, leaf, inner, condition=ra.isleaf, structure=None):
        then = ra.compute((N, H), leaf)
        orelse = ra.compute((N, H), inner)
        h = ra.if_then_else((N, H), lambda n, i: (condition(n), then, orelse))
        return ra.recursion_op(self.h_ph, h, structure=structure).plan()


@pytest.fixture
def m():
    return Language()


def required(plan):
    return {payload.name: payload.required for payload in plan.payloads}


def test_a_child_sum_model_takes_any_arity(m):
    plan = m.close(lambda n, i: m.x[n, i])
    assert plan == Plan(
        StructureKind.TREE, 1, None, (Payload("x", DType.FLOAT32, (H,), Presence.ALL, 0.0, None),), ()
    )


@pytest.mark.parametrize(
    ("structure", "kind", "most"),
    [
        (ra.Tree(), StructureKind.TREE, None),
        (ra.Tree(max_children=5), StructureKind.TREE, 5),
        (ra.Dag(), StructureKind.DAG, None),
        (ra.Dag(max_children=2), StructureKind.DAG, 2),
        (ra.Sequence(), StructureKind.SEQUENCE, 1),
    ],
)
def test_kinds(m, structure, kind, most):
    plan = m.close(lambda n, i: m.x[n, i], structure)
    assert (plan.kind, plan.min_children, plan.max_children) == (kind, 1, most)


def test_a_payload_is_required_where_it_is_read(m):
    assert required(m.split(lambda n, i: m.emb[m.word[n], i], lambda n, i: m.x[n, i] + m.hs[n, i])) == {
        "word": Presence.LEAVES,
        "x": Presence.INNER,
    }


@pytest.mark.parametrize(
    "condition",
    [
        ra.isleaf,
        lambda n: ra.num_children(n) == 0,
        lambda n: ~(ra.num_children(n) > 0),
        lambda n: ra.num_children(n) < 1,
        lambda n: ra.num_children(n) < 1,
        lambda n: ra.isleaf(n) & (ra.num_children(n) != 3),
        lambda n: ra.isleaf(n) | (ra.num_children(n) < 0),
    ],
)
def test_a_branch_on_the_structure_is_understood_however_it_is_written(m, condition):
    plan = m.split(
        lambda n, i: m.x[n, i], lambda n, i: m.h_ph[n.left, i] + m.h_ph[n.right, i], condition=condition
    )
    assert required(plan) == {"x": Presence.LEAVES}
    assert (plan.min_children, plan.max_children, plan.positions) == (2, 2, (0, 1))


def test_a_compute_that_both_branches_read_is_computed_everywhere(m):
    shared = ra.compute((N, H), lambda n, i: ra.tanh(m.x[n, i]))
    assert required(m.split(lambda n, i: shared[n, i], lambda n, i: shared[n, i] + m.hs[n, i])) == {
        "x": Presence.ALL
    }


def test_what_is_read_for_each_child_is_required_at_inner_nodes(m):
    f = ra.compute((N, K, H), lambda n, k, i: m.x[n, i] * m.h_ph[k, i])
    plan = m.close(lambda n, i: ra.sum_children(n, lambda k: f[n, k, i]))
    assert required(plan) == {"x": Presence.INNER}


def test_what_is_read_at_a_child_is_required_everywhere_below(m):
    plan = m.close(lambda n, i: ra.sum_children(n, lambda k: m.x[k, i]))
    assert required(plan) == {"x": Presence.ALL}


def test_where_narrows_too(m):
    plan = m.close(lambda n, i: ra.where(ra.isleaf(n), m.x[n, i], 0.0))
    assert required(plan) == {"x": Presence.LEAVES}


def test_a_guarded_position_may_be_missing(m):
    second = lambda n, i: ra.where(ra.num_children(n) > 1, m.h_ph[n.right, i], 0.0)  # noqa: E731
    plan = m.split(lambda n, i: m.x[n, i], lambda n, i: m.h_ph[n.left, i] + second(n, i))
    assert (plan.min_children, plan.max_children, plan.positions) == (1, 2, (0, 1))


def test_a_model_of_positions_that_also_reduces_takes_any_arity(m):
    plan = m.split(lambda n, i: m.x[n, i], lambda n, i: m.h_ph[n.right, i] + m.hs[n, i])
    assert (plan.min_children, plan.max_children, plan.positions) == (2, None, (1,))


def test_a_sequence_reads_the_step_before_by_either_way(m):
    plan = m.split(lambda n, i: m.x[n, i], lambda n, i: m.h_ph[n.left, i], structure=ra.Sequence())
    assert (plan.kind, plan.min_children, plan.max_children, plan.positions) == (
        StructureKind.SEQUENCE,
        1,
        1,
        (0,),
    )


def test_a_default_takes_the_requirement_away():
    m = Language()
    m.word = ra.node_input("word", dtype="int32", default=-1)
    plan = m.close(lambda n, i: ra.where(m.word[n] >= 0, m.emb[m.word[n], i], 0.0))
    assert plan.payloads == (Payload("word", DType.INT32, (), Presence.NOWHERE, -1, (0, V)),)


@pytest.mark.parametrize(
    "guard",
    [
        lambda word: word != -1,
        lambda word: word > -1,
        lambda word: word >= 0,
        lambda word: ~(word < 0),
        lambda word: (word >= 0) & (word < 100),
        lambda word: ~((word < 0) | (word > 100)),
    ],
)
def test_a_guard_is_understood_however_it_is_written(guard):
    m = Language()
    m.word = ra.node_input("word", dtype="int32", default=-1)
    m.close(lambda n, i: ra.where(guard(m.word[n]), m.emb[m.word[n], i], 0.0))


def guarded(shape, default):
    """A model that looks the numbers of a payload up in a table of five rows, those from 0 up."""
    kind, table = ra.node_input("kind", shape, dtype="int32", default=default), ra.input_tensor("T", (5,))

    def read(number):
        return ra.where(number >= 0, table[number], 0.0)

    def body(n):
        return ra.sum(3, lambda k: read(kind[n, k])) if shape else read(kind[n])

    return ra.recursion_op({"h": ra.compute((N,), body)})


@pytest.mark.parametrize("shape", [(), (3,)], ids=["number", "vector"])
def test_the_negative_number_that_a_guard_excludes_is_the_default(shape):
    """Others are mistakes, also where the guard would exclude them."""
    for default, accepted in ((None, (4,)), (-1, (-1, 4))):
        model = guarded(shape, default)
        params = model.init_params(seed=0)
        function = cortex.compile(model, params, threads=1)
        for value in (-7, -1, 4):
            node = Node(kind=np.full(shape, value, np.int32) if shape else value)
            if value in accepted:
                wanted = ra.evaluate(model, params, node)["h"]
                np.testing.assert_allclose(function(node)["h"], wanted, rtol=1e-6)
                continue
            with pytest.raises(DataError, match="outside 0 <= kind < 5") as refused:
                function(node)
            assert ("declare the payload with default=" in str(refused.value)) == (default is None)


def test_an_element_of_a_vector_out_of_range_is_named():
    kind, table = ra.node_input("kind", (3,), dtype="int32"), ra.input_tensor("T", (5,))
    model = ra.recursion_op({"h": ra.compute((ra.N,), lambda n: ra.sum(3, lambda k: table[kind[n, k]]))})
    with pytest.raises(
        DataError,
        match=r"`kind` holds 5, outside .* 5\n.* of 5 rows\n.*an int32 array of shape \(3,\), of 0 to 4",
    ):
        cortex.compile(model, model.init_params(), threads=1)(Node(kind=np.array([0, 5, 1], np.int32)))


def test_a_guard_that_lets_the_default_through_is_refused():
    m = Language()
    m.word = ra.node_input("word", dtype="int32", default=-1)
    with pytest.raises(ModelError, match="is read where a node carries no 'word'"):
        m.close(lambda n, i: ra.where(m.word[n] >= -1, m.emb[m.word[n], i], 0.0))


def test_a_range_is_what_all_tables_have_in_common(m):
    small = ra.input_tensor("small", (5,))
    plan = m.close(lambda n, i: m.emb[m.word[n], i] * small[m.word[n] - 2])
    assert plan.payloads[0].range == (2, 7)


def test_typed_weights_index_by_payload(m):
    W = ra.input_tensor("W", (3, H, H))
    kind = ra.node_input("type", dtype="int64")
    plan = m.close(lambda n, i: ra.sum(H, lambda j: W[kind[n], i, j] * m.hs[n, j]))
    assert plan.payloads == (Payload("type", DType.INT64, (), Presence.ALL, -1, (0, 3)),)


def test_an_index_that_is_kept_inside_asks_for_no_range(m):
    plan = m.close(
        lambda n, i: m.emb[m.word[n] % V, i] * m.emb[ra.minimum(ra.maximum(m.word[n], 0), V - 1), i]
    )
    assert plan.payloads[0].range is None


def test_indices_are_followed_through_arithmetic_and_guards(m):
    wide = ra.input_tensor("wide", (2 * H, 2))
    both = lambda n, j: ra.where(j < H, m.x[n, j], m.hs[n, j - H])  # noqa: E731
    m.close(lambda n, i: ra.sum(2 * H, lambda j: wide[j, j % 2] * both(n, j)) + wide[2 * i + 1, i // 2])


def test_a_payload_of_several_numbers_indexes_by_each(m):
    ids = ra.node_input("ids", (3,), dtype="int32")
    plan = m.close(lambda n, i: ra.sum(3, lambda j: m.emb[ids[n, j], i]))
    assert plan.payloads == (Payload("ids", DType.INT32, (3,), Presence.ALL, -1, (0, V)),)
