"""Questions that differ in names alone are one question, others are not, and to remember answers changes none."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragged.ir.build import add
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Load, Ref, Role, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.rewrite import substitute
from ragged.prove import Context, Proof, Prover, Unproven
from ragged.prove.question import numbered
from tests.ragged.test_prove import AT_CHILD, AT_NODE, NODE, PROVEN, PROVER, ROW, STEP, UNPROVEN, B, K, linear

VARIABLES = (STEP, B, ROW, NODE, K)
PLACES = {name: (goal, place) for name, (goal, place, _) in {**PROVEN, **UNPROVEN}.items()}


def renamed(goal: Expr, place: dict, order: list[Var]) -> tuple[Expr, dict]:
    """Return the same question about new variables, with the names of `order` and with its loops in any order."""
    new = {old: Var(other.name, old.dtype) for old, other in zip(VARIABLES, order, strict=True)}
    values = {old: Ref(var) for old, var in new.items()}

    def bound(pairs):
        moved = [(new[var], substitute(expr, values)) for var, expr in pairs]
        random.Random(0).shuffle(moved)
        return tuple(moved)

    conditions = tuple(substitute(each, values) for each in place.get("conditions", ()))
    moved = {"loops": bound(place.get("loops", ())), "lets": bound(place.get("lets", ()))}
    return substitute(goal, values), {**moved, "conditions": conditions}


def asked(goal: Expr, loops=(), lets=(), conditions=()):
    return numbered(goal, Context(tuple(loops), tuple(lets), tuple(conditions)))[0]


@pytest.mark.parametrize("name", PLACES)
@given(st.permutations(VARIABLES))
@settings(max_examples=5)
def test_names_and_the_order_of_loops_make_no_other_question(name, order):
    goal, place = PLACES[name]
    again, elsewhere = renamed(goal, place, order)
    assert asked(again, **elsewhere) == asked(goal, **place)


X, Y = Var("x"), Var("y")
SMALL = Var("x", DType.INT32)
PAYLOAD = Buffer("a", DType.FLOAT32, (Const(4),), Role.PAYLOAD)


def less(lhs: Expr, rhs: Expr) -> Expr:
    return Binary(BinaryOp.LT, lhs, rhs)


def quotient(zero: float) -> Expr:
    divided = Binary(BinaryOp.DIV, Load(PAYLOAD, (Const(0),)), Const(zero, DType.FLOAT32))
    return less(Const(1.0, DType.FLOAT32), divided)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (asked(less(Ref(X), Ref(Y))), asked(less(Ref(X), Ref(X)))),
        (asked(less(Ref(X), Ref(Y)), [(X, Const(3))]), asked(less(Ref(X), Ref(Y)), [(Y, Const(3))])),
        (asked(less(Ref(X), Const(3)), [(X, Const(3))]), asked(less(Ref(X), Const(3)), [(X, Const(4))])),
        (asked(less(Ref(X), Const(3)), [(X, Const(3))]), asked(less(Ref(X), Const(3)), (), [(X, Const(3))])),
        (
            asked(less(Ref(X), Const(3)), (), (), [less(Ref(X), Ref(Y))]),
            asked(less(Ref(X), Const(3)), (), (), [less(Ref(Y), Ref(X))]),
        ),
        (
            asked(less(Ref(X), Const(3))),
            asked(less(Ref(SMALL), Const(3, DType.INT32))),
        ),
        (asked(quotient(0.0)), asked(quotient(-0.0))),
    ],
)
def test_what_differs_in_more_than_names_is_another_question(one, other):
    assert one != other


def test_an_answer_speaks_of_the_variables_that_were_asked_about():
    goal, place, _ = UNPROVEN["a word may be missing"]
    prover = Prover(PROVER.program)
    first = prover.prove(goal, **place)
    again, elsewhere = renamed(goal, place, [K, NODE, B, STEP, ROW])
    second = prover.prove(again, **elsewhere)
    assert prover.answers is not None and len(prover.answers) == 1
    assert isinstance(first, Unproven) and isinstance(second, Unproven)
    assert first.example is not None and second.example is not None
    assert first.example.startswith("step = 0, i = 0, b = 1, node = 0, ")
    assert set(second.example.split(", ")[:4]) == {"k = 0", "b = 0", "node = 1", "step = 0"}


conditions = st.lists(st.builds(less, linear, linear), max_size=2)


@given(st.lists(st.tuples(linear, linear, conditions, st.permutations(VARIABLES)), min_size=2, max_size=4))
@settings(max_examples=25, deadline=None)
def test_remembering_answers_changes_none(questions):
    """Each question is asked under two sets of names: one prover remembers, the other asks the solver every time."""
    remembers, forgets = Prover(PROVER.program), Prover(PROVER.program, answers=None)
    for lhs, rhs, holding, order in questions:
        goal, place = less(lhs, rhs), {**AT_NODE, "conditions": holding}
        for each, where in ((goal, place), renamed(goal, place, order)):
            assert remembers.prove(each, **where) == forgets.prove(each, **where)
    assert remembers.answers and not forgets.answers


def test_what_equals_a_divisor_and_is_not_the_same():
    """1 / 0.0 and 1 / -0.0 are on either side of everything, and 0.0 equals -0.0."""
    for prover in (Prover(PROVER.program), Prover(PROVER.program, answers=None)):
        never = Const(False, DType.BOOL)
        refuted = [quotient(0.0), Unary(UnaryOp.NOT, quotient(0.0))]
        assert prover.prove(never, conditions=refuted) == Proof(frozenset())
        possible = [quotient(0.0), Unary(UnaryOp.NOT, quotient(-0.0))]
        assert isinstance(prover.prove(never, conditions=possible), Unproven)


def test_loops_are_of_the_place_alone():
    goal = less(Ref(K), Call(PROVER.program.functions[0]))
    assert asked(goal, ((K, Const(3)),)) != asked(goal)
    assert asked(add(goal.lhs, 1), AT_CHILD["loops"][-1:]) != asked(add(goal.lhs, 2), AT_CHILD["loops"][-1:])
