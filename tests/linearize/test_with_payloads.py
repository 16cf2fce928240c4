"""Other payloads for linearized structures: what linearizing anew gives, without reading the structures again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cortex
from cortex import models, ra
from cortex.ilir.classes import Comparison, NodeClass
from cortex.ilir.plan import Payload, Plan, StructureKind
from cortex.linearize import Forest, Linearized, Linearizer, Node, linearize
from ragged.errors import DataError
from ragged.ir.dtype import DType
from ragged.ir.ops import BinaryOp
from tests.linearize.illegal import Broken
from tests.linearize.strategies import columns, forests, plans
from tests.linearize.support import BARE, BINARY, assert_same, carrying, vector, word
from tests.ra.test_specialize import Typed, typed_trees

KINDS = Plan(
    StructureKind.TREE,
    1,
    None,
    (Payload("kind", DType.INT32, (), word().required, -1, None),),
    (),
    carriers=("kind",),
    classes=(
        NodeClass(True, (Comparison("kind", BinaryOp.GE, 2),)),
        NodeClass(True, ()),
        NodeClass(False, ()),
    ),
)


def of_forest(plan: Plan, forest: Forest, **payloads: np.ndarray) -> Linearized:
    """Linearize a forest's topology with these payloads."""
    return linearize(plan, Forest(forest.child_begin, forest.child, forest.structure_begin, **payloads))


@given(st.data())
def test_it_is_what_linearizing_anew_gives(data):
    plan = data.draw(plans())
    forest = data.draw(forests(plan))
    nodes = forest.num_nodes
    try:
        before = of_forest(plan, forest, **{p.name: data.draw(columns(p, nodes)) for p in plan.payloads})
    except DataError:
        assume(False)
    other = {p.name: data.draw(columns(p, nodes)) for p in plan.payloads}
    assume(all(len(array) == nodes for array in other.values()))
    try:
        anew = of_forest(plan, forest, **other)
    except DataError:
        with pytest.raises(DataError):
            before.with_payloads(**{name: array[before.row_keys] for name, array in other.items()})
        return
    try:
        found = before.with_payloads(**{name: array[before.row_keys] for name, array in other.items()})
    except DataError as error:
        assert "follows from" in str(error)
        return
    assert_same(found, anew)


def test_the_structure_is_shared_and_the_first_batch_stays():
    plan = carrying(word(), vector())
    forest = Forest([0, 2, 2, 2], [1, 2])
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    before = of_forest(plan, forest, word=[-1, 4, 5], x=x)
    kept = {name: array.copy() for name, array in before.payloads.items()}
    given = {"word": np.int64([6, 7, -1]), "x": x + 1}
    after = before.with_payloads(**given)
    given["x"][:] = 0
    assert after.arrays == before.arrays
    assert all(after.arrays[name] is array for name, array in before.arrays.items())
    assert after.rows is before.rows and after.row_keys is before.row_keys
    assert after.payloads["word"][after.rows].tolist() == [6, 7, -1]
    assert (after.payloads["x"][after.rows] == x + 1).all()
    assert all((before.payloads[name] == array).all() for name, array in kept.items())
    assert before.with_payloads(word=given["word"]).payloads["x"] is before.payloads["x"]


TREES = (BINARY, [(1, 2), 3])
OF_KIND = (KINDS, Forest([0, 2, 2, 2], [1, 2], kind=[-1, 1, 3]))
REFUSED = {
    "unknown_payload": (*TREES, {"words": [1, 2, 3, 4]}),
    "unknown_payload.none": (BARE, (1, 2), {"word": [1, 2, 3]}),
    "exchanged_rows": (*TREES, {"word": [1, 2, -1]}),
    "renumbered": (*OF_KIND, {"kind": [3, 3, -1]}),
    "renumbered.carrier": (*OF_KIND, {"kind": [1, 3, 0]}),
    "exchanged.out_of_range": (*TREES, {"word": [1, 2, -1, 10]}),
    "exchanged.required": (*TREES, {"word": [1, -1, -1, 3]}),
    "exchanged.overflow": (*OF_KIND, {"kind": [1, 2**31, -1]}),
    "exchanged.wrong_dtype": (*TREES, {"word": [1.0, 2.0, -1.0, 3.0]}),
    "exchanged.wrong_shape": (*TREES, {"word": [[1], [2], [-1], [3]]}),
    "exchanged.masked": (*TREES, {"word": np.ma.masked_equal([1, 2, -1, 3], -1)}),
    "exchanged.unreadable": (*TREES, {"word": Broken()}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_message(name, golden):
    plan, data, payloads = REFUSED[name]
    batch = linearize(plan, data)
    with pytest.raises(DataError) as refused:
        batch.with_payloads(**payloads)
    golden(f"{name}.txt", f"{refused.value}\n")


def test_vectors_that_are_borrowed_stay_where_they_are():
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    forest = Forest([0, 2, 2, 2], [1, 2], x=x)
    batch = Linearizer(carrying(vector())).borrow(forest, ("x",))
    with pytest.raises(DataError):
        batch.with_payloads(x=x)


def same(found, wanted):
    """Whether two outputs have the same bits."""
    return all(found[name].tobytes() == wanted[name].tobytes() for name in wanted)


@pytest.mark.parametrize("keep", ["nodes", "roots"])
def test_a_function_gives_the_bits_of_linearizing_anew(keep):
    rng = np.random.default_rng(0)
    model = models.dag_rnn(hidden=8, embed=5)
    fn = cortex.compile(model, model.init_params(seed=0), threads=2, keep=keep)
    begin, child = np.int32([0, 0, 1, 2, 4, 5, 7]), np.int32([0, 0, 2, 1, 2, 4, 3])
    images = rng.standard_normal((3, 6, 5)).astype(np.float32)
    grid = fn.linearize(Forest(begin, child, x=images[0]))
    for image in images:
        assert same(fn(grid.with_payloads(x=image[grid.row_keys])), fn(Forest(begin, child, x=image)))


def test_sequences_of_one_length_keep_the_order_of_their_steps():
    model = models.gru(8, 5, 20)
    fn = cortex.compile(model, model.init_params(seed=0), threads=1)
    first, other = ([np.arange(k, k + n) % 20 for n in (3, 7)] for k in (0, 9))
    batch = fn.linearize(first)
    assert same(fn(batch.with_payloads(word=np.concatenate(other))), fn(other))
    torch = pytest.importorskip("torch")
    assert same(fn(batch.with_payloads(word=torch.from_numpy(np.concatenate(other)))), fn(other))


def test_classes_and_carriers_of_nodes_are_kept():
    typed = Typed()
    schedule = ra.Schedule(typed.model)
    schedule.dynamic_batch()
    schedule.specialize(lambda n: typed.kind[n] == 2)
    fn = cortex.compile(schedule, typed.model.init_params(seed=0), threads=1)
    batch = fn.linearize(typed_trees(0))
    kinds, words = (np.array([getattr(node, name, 0) for node in batch.keys]) for name in ("kind", "word"))
    with pytest.raises(DataError, match=r"follows from `kind\[n\] == 2`"):
        batch.with_payloads(kind=np.full(len(kinds), 2))
    swapped = np.where(kinds == 2, 2, 1 - kinds)
    found = fn(batch.with_payloads(kind=swapped))
    for node, kind in zip(batch.keys, swapped, strict=True):
        node.kind = int(kind)
    trees = [batch.keys[end - 1] for end in batch.row_begin[1:]]
    assert same(found, fn(trees)) and not same(found, fn(batch)) and len(words)


def test_vectors_that_stayed_where_they_are_are_not_exchanged():
    x = np.arange(9, dtype=np.float32)
    borrowed = Linearizer(carrying(vector())).borrow(Node(x=x[5:8]), ("x",))
    with pytest.raises(
        DataError, match=r"`x` of the linearized batch is of shape \(\d+,\), and its sizes say \(1, 3\)"
    ):
        borrowed.with_payloads(x=x[:3].reshape(1, 3))
