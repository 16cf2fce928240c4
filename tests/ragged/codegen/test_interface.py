"""How stages are called, as data: what is made of it is what was made of the program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragged.codegen.build import compile_program, generate
from ragged.codegen.entry import signature_of
from ragged.codegen.interface import SYMBOL_PREFIX
from ragged.errors import InternalError, ModelError
from ragged.ir.expr import Buffer, Var
from ragged.ir.parser import parse
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from tests.ragged.codegen.hand import at, buffer, f32, loop, op, output, program, size, store, table

TEAM = """
program("sums")

rows: input()
workers: call()
length: input(r < rows) = facts(0 <= length(r) < 9)
x: payload(float32[rows, 8], align=4)
s: output(float32[rows, 2 * rows + 1], order=(1, 0))

with kernel:
    for w in team(workers):
        for r in serial(rows):
            check(length(r) < 9, "row {0} is {1} long", r, length(r))
            s[r, w]: s.init = 0.0
            for k in serial(length(r)):
                s[r, w] += x[r, k]
"""


def described(argument) -> tuple[object, ...]:
    symbol = argument.symbol
    kind = (symbol.role, symbol.order) if isinstance(symbol, Buffer) else symbol.source
    shape = [expr_text(extent) for extent in argument.shape]
    return (argument.name, argument.kind, argument.dtype, shape, argument.align, symbol.name, kind)


def same_names() -> Program:
    """Four things of one name, and one that is called like an operator."""
    n, i = size("n"), Var("i")
    word, x, other, out = table("exp", n), buffer("n", n), buffer("n", 3), output("n", n)
    value = op("*", at(x, i), op("+", at(other, at(word, i)), f32(1.0)))
    return program(loop(i, n, store(out, (i,), value)), n, word, x, other, out)


@pytest.mark.parametrize("made", [parse(TEAM), same_names()], ids=["team", "same names"])
def test_the_entries_are_those_of_the_program(made):
    compiled = compile_program(made)
    asked = []
    entries = compiled.interface().entries(lambda name: asked.append(name) or print)
    assert asked == [f"{SYMBOL_PREFIX}{made.name}_kernel"]
    (entry,), (want,) = entries.values(), compiled.entries.values()
    assert [*map(described, entry.arguments)] == [*map(described, want.arguments)]
    assert (entry.kind, entry.checks, entry.team) == (want.kind, want.checks, want.team)
    assert (entry.workers is None) == (want.workers is None)
    if entry.workers is not None:
        assert entry.workers.name == "workers"
        assert entry.workers not in [argument.symbol for argument in entry.arguments]


def test_declarations_that_are_none():
    interface = generate(parse(TEAM)).interface()
    with pytest.raises(ModelError, match="unknown name 'absent'"):
        replace(interface, declarations='program("p")\nx: output(float32[absent])').entries(len)
    with pytest.raises(InternalError, match="1 names for the declarations of 'sums'"):
        replace(interface, names=("rows",)).entries(len)


def test_jit_finds_what_the_interface_names():
    made = generate(parse(TEAM))
    stage = made.interface().stages[0]
    assert stage.kind is StageKind.KERNEL and made.jit(stage.function) is not None
    assert [a.name for a in signature_of(made.program)] == ["rows", "workers", "length", "x", "s"]
