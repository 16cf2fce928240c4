"""The generated check of a fact agrees with what the fact means, on data that is and is not so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.codegen.build import compile_program
from ragged.errors import DataError
from ragged.ir.expr import Function
from ragged.ir.fact import Fact
from ragged.ir.facts import Injective, Range
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.parser import parse
from ragged.ir.program import Program, StageKind
from ragged.passes.assume import assume
from tests.support.check_facts import violation

PROGRAM = """\
program("facts")

size: input()
edges: input()
count: input()
value: input(i < size) = facts(i + 1 <= value(i) < size + 2, monotone(), monotone(strict=True), injective())
place: input(i < size) = facts(0 <= place(i) < size + 3, injective())
offset: input(i < size + 1) = facts(prefix_sum(length), prefix_sum(gap))
length: input(i < size)
row: input(f < edges) = facts(owner(offset))
gap: expression(i < size, offset(i + 1) - offset(i))
begin: input(b < count) = facts(tiling(tall, 2, size))
tall: input(b < count)
pointer: input(i < size) = facts(follows(begin, tall), follows(begin, tall, optional=True))
edge: input(e < edges) = facts(follows(begin, tall, via=offset), descends(group, height, 2, via=offset))
group: input(i < size + 1)
height: input(i < size)
top: input(t < count) = facts(layered(start, group, height, 2))
start: input(s < count + 1)
down: input(i < size - 1) = facts(descends(group, height, 2), descends(group, height, 2, optional=True))
kind: input(n < size) = facts(uniform(begin, tall, kind(n) <= 1), uniform(begin, tall, kind(n) != n + 1))
out: output(float32[1])

with kernel:
    out[0] = 0.0
"""


def checking(index: int) -> Program:
    """Return the program with a prelude that checks the fact at `index`."""
    program = parse(PROGRAM)
    return assume(program, (program.facts[index],))


def implied(fact: Fact, by: Fact) -> bool:
    """Return whether `fact` is checked along with `by`: numbers bound the table in which `place` is looked up."""
    if not isinstance(by, Injective) or by.function.name != "place":
        return False
    return isinstance(fact, Range) and fact.function is by.function


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

    def nearly_rows():
        rows = np.repeat(np.arange(size), lengths)[:edges]
        return np.array(rows, np.int32) if len(rows) == edges and draw(st.booleans()) else some(edges, True)

    offset = np.array([0, *np.cumsum(lengths)], np.int32) if draw(st.booleans()) else some(size + 1, True)
    begin, tall = nearly([2, 1, 0][:count]), nearly([size - 2, 1, 1][:count])
    places = draw(st.permutations(range(size + 3)))[:size]
    arrays = {
        "value": some(size, draw(st.booleans())),
        "place": nearly(places),
        "offset": offset,
        "length": np.array(lengths, np.int32),
        "begin": begin,
        "tall": tall,
        "pointer": some(size, False),
        "row": nearly_rows(),
        "edge": some(edges, False),
        "kind": np.minimum(some(size, False), draw(st.integers(0, 2))),
        "group": nearly([0, 1, 0, 0, 0, 0][: size + 1]),
        "height": nearly([3, 2, 1, 0, 0][:size]),
        "top": nearly([1, 0, 0][:count]),
        "start": nearly([0, 1, 1, 2][: count + 1]),
        "down": nearly([2, 2, 3, 3][: size - 1]),
    }
    return {"size": size, "edges": edges, "count": count}, arrays


@pytest.mark.parametrize("index", FACTS, ids=lambda i: f"{type(parse(PROGRAM).facts[i]).__name__}{i}")
@given(drawn=data())
def test_generated_check_agrees_with_the_meaning(index, drawn, compiled):
    sizes, arrays = drawn
    program = PROGRAMS[index]
    checked = [
        fact for fact in program.facts if fact is program.facts[index] or implied(fact, program.facts[index])
    ]
    broken = any(violation(fact, sizes, arrays) is not None for fact in checked)
    try:
        interpret(program, sizes, arrays, stages=(StageKind.PRELUDE,))
        assert not broken
    except CheckFailed:
        assert broken
    tables = {name: np.empty(sizes["size"] + 3, np.int64) for name in ("value_seen", "place_seen")}
    try:
        compiled[index].call(StageKind.PRELUDE, {**sizes, **arrays, **tables, "out": np.zeros(1, np.float32)})
        assert not broken
    except DataError:
        assert broken


def test_every_kind_of_fact_is_among_them():
    kinds = {type(fact).__name__ for fact in parse(PROGRAM).facts}
    assert kinds == {
        "Range",
        "Monotone",
        "Injective",
        "PrefixSum",
        "Owner",
        "Tiling",
        "Follows",
        "Layered",
        "Descends",
        "Uniform",
    }
    assert all(isinstance(function, Function) for function in parse(PROGRAM).functions)


def order(facts: str) -> Program:
    text = f"""\
program("order")

rows: input()
order: input(i < rows) = facts({facts})
x: output(float32[1])

with kernel:
    x[0] = 0.0
"""
    program = parse(text)
    return assume(program, program.facts[-1:])


@pytest.mark.parametrize("facts", ["injective()", "0 <= order(i) < rows, injective()"])
def test_a_permutation_is_checked_in_one_walk_and_another(facts):
    rows = 1 << 20  # two loops of them, one in the other, would take minutes
    program = order(facts)
    built, x = compile_program(program), np.zeros(1, np.float32)
    values = np.random.default_rng(0).permutation(rows).astype(np.int32)
    seen = np.empty(rows, np.int64)
    sizes = {"rows": rows, "x": x, "order_seen": seen}
    built.call(StageKind.PRELUDE, {**sizes, "order": values})
    values[7] = values[rows - 3]
    with pytest.raises(
        DataError, match=rf"order\(7\) = order\({rows - 3}\) = {values[7]}, which should differ"
    ):
        built.call(StageKind.PRELUDE, {**sizes, "order": values})


def failure(program, values):
    """Return the message with which a check fails for an order, None if all hold."""
    try:
        interpret(program, {"rows": len(values)}, {"order": np.array(values, np.int32)})
    except CheckFailed as failed:
        return str(failed)
    return None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([2, 0, 2], "order(0) = order(2) = 2, which should differ"),
        ([9, 0, 9], "order(0) = order(2) = 9, which should differ"),
        ([0, -1, -1], "order(1) = order(2) = -1, which should differ"),
        ([9, 0, -1], None),
        ([], None),
    ],
)
def test_values_without_a_place_are_compared(values, message):
    program = order("injective()")
    found = failure(program, values)
    assert found is None if message is None else found.endswith(message)


def test_what_is_checked_already_is_not_checked_again():
    program = parse(PROGRAM)
    once = assume(program, program.facts)
    assert assume(once, program.facts) is once
    assert assume(program, ()) is program
    text = str(assume(assume(program, program.facts[:2]), program.facts[:3]))
    assert text.count("is not <") == 1 + 1  # monotone and strictly monotone are two facts


def test_a_name_that_is_taken_is_not_taken_again():
    program = parse(PROGRAM.replace("out: output", "place_seen: workspace(float32[1])\nout: output"))
    names = [buffer.name for buffer in assume(program, program.facts).buffers]
    assert names == ["place_seen", "out", "value_seen", "place_seen_0"]


def test_loops_start_at_zero_or_step_over_a_range_and_nothing_is_checked_twice(golden):
    """Of tilings, edges, what may be missing, and ranges of groups."""
    preludes = (str(PROGRAMS[index]).partition("with prelude:\n")[2] for index in (9, 12, 16, 17))
    golden("fact_checks.txt", "".join(text.partition("with kernel:")[0] for text in preludes))


@pytest.mark.parametrize(
    ("facts", "shape", "values", "message"),
    [
        ("injective()", "rows", [1, 0], None),
        ("0 <= order(i) < rows + 1, injective()", "max(rows + 1 - 0, 0)", [2, 0], None),
        ("2 <= order(i) < rows, injective()", "max(rows - 2, 0)", [], None),
        ("1 <= order(i) < rows + 1, injective()", "max(rows + 1 - 1, 0)", [2, 1], None),
        ("1 <= order(i) < rows + 1, injective()", "max(rows + 1 - 1, 0)", [2, 2], "(0) = order(1) = 2"),
        ("0 - 3 <= order(i) < 0 - 1, injective()", "max(0 - 1 - (0 - 3), 0)", [-2, -3], None),
        ("i <= order(i) < rows, injective()", "rows", [1, 1], "(0) = order(1) = 1"),
    ],
)
def test_the_table_has_a_place_for_each_number_in_the_bounds(facts, shape, values, message):
    program = order(facts)
    assert f"order_seen: workspace(int64[{shape}])" in str(program)
    found = failure(program, values)
    assert found is None if message is None else message in found
