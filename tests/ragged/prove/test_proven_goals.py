"""What was proven under some conditions is found under more of them, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.analysis.dependence import any_two, find_conflict
from ragged.ir.build import add
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.program import Program
from ragged.ir.sites import sites
from ragged.ir.stmt import Store
from ragged.prove import Proof, Prover
from ragged.prove.proven_goals import ProvenGoals


def less(lhs: Expr | Var, rhs: Expr | int) -> Expr:
    return Binary(
        BinaryOp.LT, Ref(lhs) if isinstance(lhs, Var) else lhs, Const(rhs) if isinstance(rhs, int) else rhs
    )


class Asking:
    """A prover that counts what it is asked anew."""

    def __init__(self, monkeypatch):
        self.prover, self.proven, self.asked = Prover(Program("p", (), (), (), ())), ProvenGoals(), 0
        answer = Prover._answer

        def counted(prover, question):
            self.asked += 1
            return answer(prover, question)

        monkeypatch.setattr(Prover, "_answer", counted)

    def __call__(self, goal, *conditions, loops=()):
        self.asked = 0
        found = self.prover.prove(goal, loops=loops, conditions=conditions, proven_goals=self.proven)
        return isinstance(found, Proof), self.asked


@pytest.fixture
def ask(monkeypatch):
    return Asking(monkeypatch)


N, M, K = Var("n"), Var("m"), Var("k")
SQUARE = Binary(BinaryOp.MUL, Ref(N), Ref(N))
"""No linear expression, so that the solver is asked."""
GOAL = Binary(BinaryOp.GE, SQUARE, Const(9))
FAR, FARTHER, OTHER = less(N, -3), less(N, -9), less(N, Ref(M))


def test_more_conditions_in_another_order_are_the_same_question(ask):
    assert ask(GOAL, FAR, OTHER) == (True, 1)
    assert ask(GOAL, less(M, 7), OTHER, FAR) == (True, 0)
    assert ask(GOAL, OTHER, FARTHER) == (True, 1)  # another condition
    assert ask(GOAL, OTHER) == (False, 1)
    assert ask(GOAL, OTHER) == (False, 1)  # what is not proven is not kept


def test_variables_of_other_names_are_the_same_question(ask):
    assert ask(GOAL, FAR) == (True, 1)
    square = Binary(BinaryOp.MUL, Ref(K), Ref(K))
    assert ask(Binary(BinaryOp.GE, square, Const(9)), less(K, -3), less(K, 0)) == (True, 0)


def test_other_loops_are_another_question(ask):
    bounded = Binary(BinaryOp.LE, SQUARE, Const(9))
    above = less(Const(-1), Ref(N))
    assert ask(bounded, above, loops=[(N, Const(4))]) == (True, 1)
    assert ask(bounded, above, less(N, 100), loops=[(N, Const(5))]) == (False, 1)


def test_conditions_of_floats_are_not_kept(ask):
    """0.0 equals -0.0 and is not the same."""
    payload = Buffer("x", DType.FLOAT32, (), Role.PAYLOAD)
    bits = Binary(BinaryOp.EQ, Load(payload, ()), Const(0.0, DType.FLOAT32))
    goal = Binary(BinaryOp.OR, GOAL, bits)
    assert ask(goal, bits) == (True, 1)
    negative = Binary(BinaryOp.EQ, Load(payload, ()), Const(-0.0, DType.FLOAT32))
    assert ask(goal, negative, FARTHER)[1] == 1


def test_loops_that_conditions_alone_speak_of_are_not_forgotten(ask):
    """That `m` runs says that `n` is above 0; where no `m` runs it is not so."""
    positive = Binary(BinaryOp.GE, SQUARE, Const(1))
    both = less(add(Ref(M), Ref(N)), 90)
    assert ask(positive, both, loops=[(N, Const(100)), (M, Ref(N))]) == (True, 1)
    assert ask(positive, less(N, 50), loops=[(N, Const(100))]) == (False, 1)
    assert ask(positive, both, less(N, 50), loops=[(N, Const(100)), (M, Ref(N))])[0]


def test_statements_in_other_branches_and_loops_conflict():
    """As above, of a program: the statement in the inner loop never touches x[0], the one beside it does."""
    program = parse(
        """\
program("p")

x: output(float32[100])

with kernel:
    for n in serial(10):
        for m in serial(n):
            if m + n < 9:
                x[n * n]: a = 1.0
        if n < 7:
            x[n * n]: b = 1.0
        x[0]: c = 2.0
"""
    )
    where = {site.stmt.label.name: site for site in sites(program) if isinstance(site.stmt, Store)}

    def conflict(*first):
        return find_conflict(program, [where[name] for name in first], [where["c"]], 1, any_two)

    assert conflict("a") is None
    assert conflict("b") is not None and conflict("a", "b") is not None


TERM = st.sampled_from([Ref(N), Ref(M), SQUARE, add(Ref(N), 1), Const(0), Const(3)])
FACT = st.builds(Binary, st.sampled_from([BinaryOp.LT, BinaryOp.EQ, BinaryOp.GE]), TERM, TERM)
PLACES = st.sampled_from([((N, Const(5)), (M, Ref(N))), ((N, Const(5)), (M, Const(3)), (K, Ref(M)))])


@given(FACT, PLACES, st.lists(st.lists(FACT | st.just(less(K, Ref(N))), max_size=3), min_size=2, max_size=6))
def test_what_is_found_is_what_is_proven_anew(goal, loops, under):
    prover, proven = Prover(Program("p", (), (), (), ())), ProvenGoals()
    for conditions in under:
        place = {"loops": loops, "conditions": conditions}
        found = prover.prove(goal, **place, proven_goals=proven)
        anew = Prover(prover.program, answers=None).prove(goal, **place)
        assert type(found) is type(anew)
