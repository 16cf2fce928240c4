"""Programs share the answers to questions that differ in identities alone, and none to any others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings

import ragged.prove.prover as proving
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Function, Load, Ref, Role, Var
from ragged.ir.facts import Monotone, Range
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter
from ragged.prove import Proof, Prover
from ragged.prove.answers import Refuted
from ragged.prove.query import Query
from ragged.prove.shared_answers import SharedAnswers, facts_about, key_of
from tests.ragged.prove.test_question import PLACES, asked, quotient
from tests.ragged.test_prove import (
    AT_NODE,
    BEGIN,
    CHILD,
    FACTS,
    LEFT,
    NODE,
    NODES,
    PROVER,
    RICH,
    WORD,
    K,
    linear,
)

ZERO, X, Y = Const(0), Var("x"), Var("y")


@dataclass(kw_only=True)
class Copied(Rewriter):
    """Makes an expression speak of the functions of another program, by name."""

    functions: dict[str, Function]

    def expr(self, expr: Expr) -> Expr:
        expr = super().expr(expr)
        return Call(self.functions[expr.function.name], expr.args) if isinstance(expr, Call) else expr


def copied(program: Program, goal: Expr, place: dict) -> tuple[Program, Expr, dict]:
    """Return a program of other functions that are declared alike, and the same question about it."""
    copy = parse(to_text(program))
    rewrite = Copied(functions={function.name: function for function in copy.functions})

    def bound(name: str) -> tuple[tuple[Var, Expr], ...]:
        return tuple((var, rewrite.expr(expr)) for var, expr in place.get(name, ()))

    conditions = tuple(map(rewrite.expr, place.get("conditions", ())))
    return (
        copy,
        rewrite.expr(goal),
        {"loops": bound("loops"), "lets": bound("lets"), "conditions": conditions},
    )


@pytest.fixture
def shared(monkeypatch):
    answers = SharedAnswers()
    monkeypatch.setattr(proving, "SHARED_ANSWERS", answers)
    return answers


@pytest.mark.parametrize("name", PLACES)
def test_a_program_has_the_answers_of_one_that_is_declared_alike(name, shared, monkeypatch):
    goal, place = PLACES[name]
    first, *moved = copied(PROVER.program, goal, place)  # a text has the facts by their functions
    Prover(first).prove(moved[0], **moved[1])
    copy, same, there = copied(first, *moved)
    anew = Prover(copy, answers=None).prove(same, **there)
    assert not isinstance(anew, Proof) or anew.facts <= set(copy.facts)
    monkeypatch.setattr(proving, "Query", None)  # the solver is not asked
    assert Prover(copy).prove(same, **there) == anew


@pytest.mark.parametrize("prover", [PROVER, RICH], ids=["structures", "rich"])
@pytest.mark.parametrize("name", PLACES)
def test_facts_that_are_left_out_say_nothing(name, prover):
    goal, place = PLACES[name]
    question, facts = asked(goal, **place), prover.program.facts
    near = facts_about(question, facts)
    assert list(near) == [fact for fact in facts if fact in near]
    assert Query(question, near).answer(2_000_000) == Query(question, facts).answer(2_000_000)


@given(linear, linear)
@settings(max_examples=15)
def test_facts_left_out_of_random_questions_say_nothing(lhs, rhs):
    question, facts = asked(Binary(BinaryOp.LT, lhs, rhs), **AT_NODE), RICH.program.facts
    assert Query(question, facts_about(question, facts)).answer(200_000) == Query(question, facts).answer(
        200_000
    )


def test_facts_are_reached_through_others():
    about_words = asked(Binary(BinaryOp.LT, Call(WORD, (Ref(NODE),)), Call(NODES)))
    assert [fact for fact in FACTS if fact.subject in (CHILD, LEFT, BEGIN)]
    assert {fact.subject.name for fact in facts_about(about_words, FACTS)} == {"word"}
    about_children = asked(Binary(BinaryOp.LT, Call(CHILD, (Ref(K),)), Call(NODES)))
    assert "batch_begin" in {fact.subject.name for fact in facts_about(about_children, FACTS)}


REACHED = parse("""\
program("reached")

count: input() = facts(1 <= count < 9)
rows: input() = facts(1 <= rows < 9)
begin: input(r < rows) = facts(0 <= begin(r) < 9)
length: input(r < rows) = facts(0 <= length(r) < 9)
kind: input(r < count) = facts(0 <= kind(r) < 9, uniform(begin, length, kind(r) < 3))
last: expression(r < count, begin(r) - 1)
""")


@pytest.mark.parametrize(
    ("called", "found"),
    [
        ("begin", {"begin", "rows"}),  # `uniform` asks for `kind` too
        ("kind", {"kind", "count"}),
        ("last", {"begin", "rows", "count"}),  # by its body, and by its extent
        ("rows", {"rows"}),
    ],
)
def test_what_a_call_reaches(called, found):
    (function,) = (each for each in REACHED.functions if each.name == called)
    goal = Binary(BinaryOp.LT, Call(function, (Ref(X),) if function.params else ()), Const(4))
    facts = facts_about(asked(goal), REACHED.facts)
    assert {fact.subject.name for fact in facts} == found
    assert all(isinstance(fact, Range) for fact in facts)


def test_calls_of_the_place_reach_facts():
    named = {each.name: Call(each, (ZERO,)[: len(each.params)]) for each in REACHED.functions}
    place = {
        "loops": ((X, Ref(Y)),),
        "lets": ((Y, named["begin"]),),
        "conditions": (Binary(BinaryOp.LT, Ref(X), named["kind"]),),
    }
    facts = facts_about(asked(Binary(BinaryOp.LT, Ref(X), Const(9)), **place), REACHED.facts)
    found = {fact.subject.name for fact in facts}
    assert found == {"begin", "length", "rows", "kind", "count"}  # `uniform`, and by it `length`
    assert len(facts) == len(REACHED.facts)
    del place["conditions"]
    facts = facts_about(asked(Binary(BinaryOp.LT, Ref(X), Const(9)), **place), REACHED.facts)
    assert {fact.subject.name for fact in facts} == {"begin", "rows"}


def named(name: str, dtype: DType = DType.INT64, extent: int = 4) -> Function:
    (function,) = parse(f'program("one")\n\n{name}: input(i < {extent})\n').functions
    return replace(function, dtype=dtype)


def reads(role: Role, dtype: DType = DType.INT64, at: int = 0) -> Expr:
    return Load(Buffer("a", dtype, (Const(4),), role), (Const(at),))


F, G = named("f"), named("g")
BASE = Binary(BinaryOp.LT, Call(F, (ZERO,)), Const(9))
STATED = (Range(F, ZERO, Const(9)), Monotone(F))


def key(goal: Expr = BASE, facts=STATED, effort: int = 1000, **place) -> bytes:
    return key_of(asked(goal, **place), facts, effort)


def of(function: Function) -> dict:
    goal = Binary(BinaryOp.LT, Call(function, (ZERO,)), Const(9, function.dtype))
    return {"goal": goal, "facts": (Range(function, ZERO, Const(9, function.dtype)), Monotone(function))}


def test_equal_questions_about_other_functions_have_one_key():
    assert key(**of(named("f"))) == key()
    one, other = (Binary(BinaryOp.LT, reads(Role.PAYLOAD), Const(9)) for _ in range(2))
    assert key(one) == key(other)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(key(effort=1001), id="effort"),
        pytest.param(key(facts=STATED[:1]), id="a fact less"),
        pytest.param(key(facts=STATED[::-1]), id="the order of facts"),
        pytest.param(key(facts=(Range(F, ZERO, Const(8)), STATED[1])), id="a bound of a fact"),
        pytest.param(key(facts=(STATED[0], Monotone(F, strict=True))), id="a flag of a fact"),
        pytest.param(key(**of(G)), id="a name, which examples give"),
        pytest.param(key(**of(named("f", extent=5))), id="a domain"),
        pytest.param(key(**of(named("f", DType.INT32))), id="a dtype"),
        pytest.param(key(conditions=(Binary(BinaryOp.LT, Ref(X), Const(4)),)), id="a condition"),
    ],
)
def test_what_differs_has_another_key(other):
    assert other != key()


def less(expr: Expr) -> Expr:
    return Binary(BinaryOp.LT, expr, Const(9, expr.dtype))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(reads(Role.PAYLOAD), reads(Role.WORKSPACE), id="what may change a buffer"),
        pytest.param(reads(Role.PAYLOAD), reads(Role.PAYLOAD, DType.INT32), id="a buffer's dtype"),
        pytest.param(Ref(Var("x")), Ref(Var("x", DType.INT32)), id="a variable's dtype"),
        pytest.param(
            Call(F, (Call(G, (ZERO,)),)), Call(G, (Call(F, (ZERO,)),)), id="which function is which"
        ),
    ],
)
def test_what_differs_in_an_operand_has_another_key(one, other):
    assert key(less(one)) != key(less(other))


def test_what_binds_a_variable_is_in_the_key():
    bound = {"loops": ((X, Const(4)),)}, {"lets": ((X, Const(4)),)}, {"loops": ((X, Const(5)),)}, {}
    assert len({key(less(Ref(X)), **place) for place in bound}) == len(bound)


def test_zeros_of_either_sign_have_keys_of_their_own():
    assert key(quotient(0.0)) != key(quotient(-0.0))


def test_two_functions_of_one_name_are_two():
    same, other = named("f"), named("f")
    both = Binary(BinaryOp.EQ, Call(F, (ZERO,)), Call(F, (ZERO,)))
    assert key(both, ()) != key(Binary(BinaryOp.EQ, Call(same, (ZERO,)), Call(other, (ZERO,))), ())


def test_the_answers_asked_for_last_are_kept():
    answers = SharedAnswers(most=2)
    first, second, third = b"1", b"2", b"3"
    answers.put(first, STATED, Proof(frozenset(STATED[1:])))
    answers.put(second, STATED, Refuted("undecided"))
    copies = (Range(G, ZERO, Const(9)), Monotone(G))
    assert answers.get(first, copies) == Proof(frozenset(copies[1:]))
    answers.put(third, (), Proof(frozenset()))
    assert answers.get(second, STATED) is None
    assert answers.get(third, ()) == Proof(frozenset())
    answers.clear()
    assert answers.get(first, STATED) is None
