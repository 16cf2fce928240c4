"""A kind of fact is one class: text, checks, the prover's instances and what it names are derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from ragged.errors import InternalError
from ragged.ir.build import add, sub
from ragged.ir.dtype import DType
from ragged.ir.equal import difference
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Param, Ref, Source, Var
from ragged.ir.fact import Fact
from ragged.ir.formula import Claim, Each, Forall, Trigger, at, compare, domain, extent
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.pointer_facts import Layered, Uniform
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.passes.assume import assume
from ragged.prove import Proof, Prover, Unproven
from tests.support.check_facts import violation


@dataclass(frozen=True, slots=True)
class Mirrors(Fact):
    """`f(n - 1 - i) = g(i) + shift`: a toy that no other file knows."""

    function: Function
    other: Function
    shift: Expr
    exactly: bool = False

    def formulas(self) -> Iterator[Forall]:
        f, g, i = self.function, self.other, Var("i")
        opposite, here = at(f, sub(sub(extent(f), 1), Ref(i))), add(at(g, i), self.shift)
        text = f"{f.name}({{0}}) = {{1}} is not {{2}}"
        op = BinaryOp.EQ if self.exactly else BinaryOp.GE
        claim = Claim(compare(opposite, op, here), text, (opposite.args[0], opposite, here))
        yield Forall((Each(i, domain(g)),), (claim,), (Trigger((g,), (i,)),))


TEXT = """\
program("mirror")

n: input()
m: input()
f: input(i < n) = facts(mirrors(g, n + 1, exactly=True))
g: input(i < m)
y: output(float32[1])

with kernel:
    y[0] = 0.0
"""


def test_it_prints_and_parses():
    program = parse(TEXT)
    (fact,) = program.facts
    assert to_text(program) == TEXT
    assert difference(program, parse(to_text(program))) is None
    assert isinstance(fact, Mirrors) and fact.exactly
    f, g = fact.functions
    assert (fact.subject, fact.name, fact.required) == (f, "Mirrors of f", {f, g})
    assert [str(function.name) for function in fact.functions] == ["f", "g"]


@pytest.mark.parametrize(
    ("f", "g", "text"),
    [
        ([9, 8], [5, 6], None),
        ([9, 8], [5, 7], r"f(0) = 9 is not 10"),
        ([9, 8], [4, 7], r"f(1) = 8 is not 7"),
        ([9, 8], [5], None),
    ],
)
def test_it_is_checked(f, g, text):
    program = parse(TEXT)
    sizes = {"n": len(f), "m": len(g)}
    arrays = {"f": np.array(f, np.int32), "g": np.array(g, np.int32)}
    assert violation(program.facts[0], sizes, arrays) == text
    checked = assume(program, program.facts)
    if text is None:
        interpret(checked, sizes, arrays)
        return
    with pytest.raises(CheckFailed) as caught:
        interpret(checked, sizes, arrays)
    assert str(caught.value) == text


def test_nothing_outside_of_a_domain_is_read():
    program = parse(TEXT)
    sizes = {"n": 1, "m": 2}
    arrays = {"f": np.array([7], np.int32), "g": np.array([5, 6], np.int32)}
    assert violation(program.facts[0], sizes, arrays) == "f(-1) is outside (1,), in 'a fact'"
    with pytest.raises(CheckFailed, match=r"f\(-1\) is outside of its domain"):
        interpret(assume(program, program.facts), sizes, arrays)
    prelude = assume(program, program.facts).stage(StageKind.PRELUDE)
    assert prelude is not None


def test_it_proves():
    program = parse(TEXT)
    _, _, f, g = program.functions
    k = Var("k")
    opposite = Call(f, (sub(sub(Call(program.functions[0]), 1), Ref(k)),))
    goal = compare(opposite, BinaryOp.GT, at(g, k))
    loops = ((k, Call(program.functions[1])),)
    assert Prover(program).prove(goal, loops=loops) == Proof(frozenset(program.facts))
    assert isinstance(Prover(program).prove(goal, loops=((k, Const(10)),)), Unproven)


def table(name: str) -> Function:
    return Function(name, (Param(Var("a"), Const(3)),), Source.INPUT)


F, G, H, K = map(table, "fghk")


def test_facts_that_cannot_be_stated():
    with pytest.raises(InternalError, match="'==' joins int64 and float32"):
        Uniform.of(F, BinaryOp.EQ, Const(2.0, DType.FLOAT32), G, H)
    with pytest.raises(InternalError, match="does not compare 'f' of its parameters"):
        Uniform(F, G, H, Binary(BinaryOp.LT, Const(1), Const(2)))
    with pytest.raises(InternalError, match="0 heights make no step"):
        Layered(F, G, H, K, 0)
