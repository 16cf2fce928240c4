"""The generated check of a fact agrees with what the fact means, on data that is and is not so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.codegen.build import compile_program
from ragged.errors import DataError
from ragged.ir.check_facts import violation
from ragged.ir.expr import Function
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.parser import parse
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import block
from ragged.passes.fact_checks import fact_check

PROGRAM = """\
program("facts")

size: structure()
edges: structure()
count: structure()
value: structure(i < size) = facts(i + 1 <= value(i) < size + 2, monotone(), monotone(strict=True), injective())
offset: structure(i < size + 1) = facts(prefix_sum(length), prefix_sum(gap))
length: structure(i < size)
gap: expression(i < size, offset(i + 1) - offset(i))
begin: structure(b < count) = facts(tiling(tall, 2, size))
tall: structure(b < count)
pointer: structure(i < size) = facts(follows(begin, tall))
edge: structure(e < edges) = facts(follows(begin, tall, via=offset))
out: output(float32[1])

with kernel:
    out[0] = 0.0
"""


def checking(index: int) -> Program:
    """Return the program whose prelude checks the fact at `index`."""
    program = parse(PROGRAM)
    prelude = Stage(StageKind.PRELUDE, block(fact_check(program.facts[index])))
    return Program(
        program.name, program.functions, program.buffers, program.facts, (prelude, *program.stages)
    )


FACTS = range(len(parse(PROGRAM).facts))
PROGRAMS = {index: checking(index) for index in FACTS}


@pytest.fixture(scope="module")
def compiled():
    return {index: compile_program(program) for index, program in PROGRAMS.items()}


@st.composite
def data(draw):
    """Draw sizes and arrays that are nearly right: most facts hold often."""
    size, edges, count = draw(st.integers(2, 5)), draw(st.integers(0, 4)), draw(st.integers(1, 3))
    small = st.integers(-1, 7)

    def some(n, ordered):
        values = draw(st.lists(small, min_size=n, max_size=n))
        return np.array(sorted(values) if ordered else values, np.int32)

    lengths = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))

    def nearly(right):
        return np.array(right, np.int32) if draw(st.booleans()) else some(len(right), False)

    offset = np.array([0, *np.cumsum(lengths)], np.int32) if draw(st.booleans()) else some(size + 1, True)
    begin, tall = nearly([2, 1, 0][:count]), nearly([size - 2, 1, 1][:count])
    arrays = {
        "value": some(size, draw(st.booleans())),
        "offset": offset,
        "length": np.array(lengths, np.int32),
        "begin": begin,
        "tall": tall,
        "pointer": some(size, False),
        "edge": some(edges, False),
    }
    return {"size": size, "edges": edges, "count": count}, arrays


@pytest.mark.parametrize("index", FACTS, ids=lambda i: f"{type(parse(PROGRAM).facts[i]).__name__}{i}")
@given(drawn=data())
def test_generated_check_agrees_with_the_meaning(index, drawn, compiled):
    sizes, arrays = drawn
    program = PROGRAMS[index]
    broken = violation(program.facts[index], sizes, arrays) is not None
    try:
        interpret(program, sizes, arrays, stages=(StageKind.PRELUDE,))
        assert not broken
    except CheckFailed:
        assert broken
    try:
        compiled[index].call(StageKind.PRELUDE, {**sizes, **arrays, "out": np.zeros(1, np.float32)})
        assert not broken
    except DataError:
        assert broken


def test_every_kind_of_fact_is_among_them():
    kinds = {type(fact).__name__ for fact in parse(PROGRAM).facts}
    assert kinds == {"Range", "Monotone", "Injective", "PrefixSum", "Tiling", "Follows"}
    assert all(isinstance(function, Function) for function in parse(PROGRAM).functions)
