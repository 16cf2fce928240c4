"""Whether two accesses differ is asked of the dimensions that may tell, and is true of the same iterations."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragged.analysis.distinct_elements import elements_differ
from ragged.ir.build import add
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.walk import variables
from ragged.prove import Proof, Prover

NAMES = "nmijkl"
VARS = {name: Var(name) for name in NAMES}


def named(name: str) -> Expr:
    return Ref(VARS[name])


def test_dimensions_with_loops_of_their_own_are_left_out():
    """A node's row of one dimension and of two ask the same."""
    extents = {var: Const(4) for var in VARS.values()}
    rows = (named("n"), add(named("m"), 1))
    wanted = Binary(BinaryOp.NE, *rows)
    assert elements_differ([rows], (), extents, ()) == wanted
    assert elements_differ([rows, (named("i"), named("j"))], (), extents, ()) == wanted
    assert (
        elements_differ([(named("k"), named("l")), rows, (named("i"), named("j"))], (), extents, ()) == wanted
    )


def test_dimensions_that_may_tell_stay():
    extents = {var: Const(4) for var in VARS.values()}
    i, j, n = (named(name) for name in "ijn")

    def kept(place, relation=(), conditions=(), extents=extents):
        return bool(
            variables(elements_differ([(n, n), place], relation, extents, conditions))
            & {VARS["i"], VARS["j"]}
        )

    assert not kept((i, j))
    assert kept((i, i)) and kept((i, add(j, 4))) and kept((i, Const(7)))
    assert kept((i, j), relation=(Binary(BinaryOp.LT, i, j),))
    assert kept((i, j), conditions=(Binary(BinaryOp.LT, i, Const(2)),))
    assert kept((i, j), extents=extents | {VARS["k"]: i})
    assert kept((i, j), extents=extents | {VARS["j"]: Const(0)})  # no iteration, and so no element alike
    assert kept((i, j), extents=extents | {VARS["j"]: n})


INDEX = (
    st.sampled_from(NAMES).map(named)
    | st.builds(add, st.sampled_from(NAMES).map(named), st.integers(-1, 3))
    | st.builds(Const, st.integers(0, 2))
)


@given(
    st.lists(st.tuples(INDEX, INDEX), max_size=3),
    st.lists(st.builds(Binary, st.sampled_from([BinaryOp.LT, BinaryOp.EQ]), INDEX, INDEX), max_size=2),
    st.lists(st.builds(Binary, st.sampled_from([BinaryOp.LT, BinaryOp.NE]), INDEX, INDEX), max_size=2),
    st.tuples(*[st.integers(0, 3)] * len(NAMES)),
)
def test_it_is_proven_where_all_dimensions_together_are(places, relation, conditions, sizes):
    extents = {var: Const(extent) for var, extent in zip(VARS.values(), sizes, strict=True)}
    whole: Expr = Binary(BinaryOp.NE, Const(0), Const(0))
    for here, there in places:
        whole = Binary(BinaryOp.OR, whole, Binary(BinaryOp.NE, here, there))
    for each in relation:
        whole = Binary(BinaryOp.OR, whole, Binary(BinaryOp.EQ, each, Const(False, each.dtype)))
    prover = Prover(Program("p", (), (), (), ()))
    place = {"loops": tuple(extents.items()), "conditions": conditions}
    asked = elements_differ(places, relation, extents, conditions)
    found, wanted = (isinstance(prover.prove(goal, **place), Proof) for goal in (asked, whole))
    assert found == wanted
