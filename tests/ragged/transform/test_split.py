"""split: loops over blocks."""

import operator

import pytest

from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Call, Const, Ref, Select
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.transform.locate import loop_site
from ragged.transform.loops.dispatch import dispatch
from ragged.transform.loops.specialize import specialize
from ragged.transform.loops.split import Tail, split
from tests.ragged.transform.programs import MATVEC, TREE, matvec_data
from tests.ragged.transform.support import (
    MATVEC_DATA,
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    loop,
    refused,
)

LINE = """\
program("line")

count: input()
start: input() = facts(0 <= start < 5)
x: output(float32[count])

with kernel:
    for i in {kind}({extent}):
        x[{index}] = 1.0
"""


def line(extent, kind="serial", index="i"):
    return parse(LINE.format(extent=extent, kind=kind, index=index))


@pytest.mark.parametrize(
    "tail", [each for each in Tail if each is not Tail.OVERLAP], ids=lambda tail: tail.value
)
def test_text(tail, golden):
    program = parse(MATVEC)
    after = accepted(split, program, loop(program, "n"), 4, tail).program
    golden(f"split_{tail.value}.txt", body(program) + "\nsplit(n, 4)\n\n" + body(after))


@pytest.mark.parametrize("tail", Tail, ids=lambda tail: tail.value)
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 5, 7, 16])
def test_every_loop_by_every_factor_computes_the_same(factor, tail):
    for text, data in ((MATVEC, MATVEC_DATA), (TREE, TREE_DATA)):
        program = parse(text)
        new = program
        for var in list(accepted(split, program, loop(program, "n"), 1).forwarding.loops):
            if tail is Tail.OVERLAP and (text is TREE or var.name != "i" or factor > 8):
                continue  # reductions, batches, rows that read other rows, and loops that may be short: refused
            result = accepted(split, new, var, factor, tail)
            if len(result.forwarding.loops[var]) == 3:  # what a tail copies is split once
                check_same(program, result.program, data)
                continue
            new = result.program
        check_same(program, new, data)


def test_machine_code():
    program = parse(MATVEC)
    new = accepted(split, program, loop(program, "n"), 4, Tail.PEEL).program
    new = accepted(split, new, loop(new, "j"), 4, Tail.PEEL).program
    new = accepted(split, new, loop(new, "i", 1), 3).program
    check_same_compiled(program, new, MATVEC_DATA, "y")


@pytest.mark.parametrize(
    ("extent", "factor", "tail", "text"),
    [
        (
            "12",
            4,
            Tail.PEEL,
            """\
    for i_o in serial(3):
        for i_i in serial(4):
            x[i_o * 4 + i_i] = 1.0
""",
        ),
        (
            "13",
            4,
            Tail.PEEL,
            """\
    for i_o in serial(3):
        for i_i in serial(4):
            x[i_o * 4 + i_i] = 1.0
    for i_t in serial(1):
        x[12 + i_t]: x.t = 1.0
""",
        ),
        (
            "13",
            4,
            Tail.GUARD,
            """\
    for i_o in serial(4):
        for i_i in serial(4):
            if i_o * 4 + i_i < 13:
                x[i_o * 4 + i_i] = 1.0
""",
        ),
        (
            "3",
            4,
            Tail.PEEL,
            """\
    for i_o in serial(0):
        for i_i in serial(4):
            x[i_o * 4 + i_i] = 1.0
    for i_t in serial(3):
        x[i_t]: x.t = 1.0
""",
        ),
        (
            "count",
            1,
            Tail.GUARD,
            """\
    for i_o in serial(count):
        for i_i in serial(1):
            x[i_o + i_i] = 1.0
""",
        ),
        (
            "count * 16",
            8,
            Tail.GUARD,
            """\
    for i_o in serial(count * 2):
        for i_i in serial(8):
            x[i_o * 8 + i_i] = 1.0
""",
        ),
        (
            "count - start",
            4,
            Tail.PEEL,
            """\
    for i_o in serial(max(count - start, 0) // 4):
        for i_i in serial(4):
            x[i_o * 4 + i_i] = 1.0
    for i_t in serial(max(count - start, 0) % 4):
        x[max(count - start, 0) // 4 * 4 + i_t]: x.t = 1.0
""",
        ),
        (
            "min(count, 4)",
            4,
            Tail.GUARD,
            """\
    for i_o in serial(1):
        for i_i in serial(4):
            if i_o * 4 + i_i < min(count, 4):
                x[i_o * 4 + i_i] = 1.0
""",
        ),
        (
            "min(count, 5)",
            4,
            Tail.GUARD,
            """\
    for i_o in serial((min(count, 5) + 3) // 4):
        for i_i in serial(4):
            if i_o * 4 + i_i < min(count, 5):
                x[i_o * 4 + i_i] = 1.0
""",
        ),
    ],
)
def test_constants_are_folded(extent, factor, tail, text):
    program = line(extent)
    assert body(accepted(split, program, loop(program, "i"), factor, tail).program) == text


@pytest.mark.parametrize("count", range(7))
def test_one_block_with_a_guard(count):
    program = line("min(count, 4)")
    new = accepted(split, program, loop(program, "i"), 6).program
    check_same(program, new, [({"count": count, "start": 3}, {})])


@pytest.mark.parametrize("count", range(7))
def test_a_loop_that_runs_never_stays_so(count):
    program = line("count - start")
    new = accepted(split, program, loop(program, "i"), 4, Tail.PEEL).program
    check_same(program, new, [({"count": count, "start": 3}, {})])


def test_a_peeled_reduction_goes_on_from_what_is_there():
    program = parse(MATVEC)
    result = accepted(split, program, loop(program, "j"), 4, Tail.PEEL)
    outer, inner, tail = result.forwarding.loops[loop(program, "j")]
    assert [var.name for var in (outer, inner, tail)] == ["j_o", "j_i", "j_t"]
    assert "t[n, i]: t.t = reduce(sum, U[i, 4 + j_t] * v[n, 4 + j_t], init=t[n, i])" in body(result.program)


def test_a_factor_of_nothing_is_refused():
    program = line("count")
    assert refused(split, program, loop(program, "i"), 0) == (
        "split: cannot split loop 'i' into blocks of 0\n  fix: a factor from 1 up"
    )


def test_lanes_are_refused():
    program = line("8", kind="vectorized")
    assert refused(split, program, loop(program, "i"), 4) == (
        "split: cannot split loop 'i', as it is vectorized\n"
        "  because: its iterations are lanes or workers\n"
        "  fix: split first"
    )


def test_a_loop_of_another_program_is_refused():
    other = parse(MATVEC)
    assert refused(split, line("count"), loop(other, "j"), 4) == (
        "split: the program has no loop 'j'\n"
        "  because: it was never there, or an earlier step put others in its place\n"
        "  fix: name a loop of this program: `s.loop(name)`"
    )


def test_an_extent_that_the_loop_changes_is_refused():
    program = parse(
        """\
program("shrinking")

left: output(int64[1])

with kernel:
    left[0] = 5
    for i in serial(left[0]):
        left[0]: less = i
"""
    )
    assert refused(split, program, loop(program, "i"), 2) == (
        "split: cannot split loop 'i'\n"
        "  because: left[0] would be evaluated at another time, and 'left' is written in between"
    )


@pytest.mark.parametrize("factor", [2, 3, 4, 6, 8])
def test_balanced_blocks_are_full_but_for_the_last_two(factor):
    program = parse(MATVEC)
    n = loop(program, "n")
    result = accepted(split, program, n, factor, Tail.BALANCE)
    _, inner = result.forwarding.loops[n]
    extent = loop_site(result.program, inner, "test").stmt.extent
    outer = loop_site(result.program, inner, "test").loops[-1].var
    for count in range(1, 4 * factor + 1):
        blocks = -(-count // factor)
        lengths = [value_of(extent, {"count": count, outer.name: block}) for block in range(blocks)]
        assert sum(lengths) == count and max(lengths) <= factor
        assert all(length == factor for length in lengths[:-2])
        assert blocks == 1 or lengths[-2] - lengths[-1] in (0, 1)


def value_of(expr, values):
    """Evaluate an index expression of constants, sizes and loops by name."""
    match expr:
        case Const(value=value):
            return value
        case Call(function=function):
            return values[function.name]
        case Ref(var=var):
            return values[var.name]
        case Select(condition=condition, if_true=yes, if_false=no):
            return value_of(yes if value_of(condition, values) else no, values)
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return PYTHON[op](value_of(lhs, values), value_of(rhs, values))


PYTHON = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.FLOORDIV: operator.floordiv,
    BinaryOp.MOD: operator.mod,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.EQ: operator.eq,
}


def test_the_lengths_of_balanced_blocks_are_known_to_proofs():
    program = parse(MATVEC)
    n = loop(program, "n")
    result = accepted(split, program, n, 6, Tail.BALANCE)
    inner = result.forwarding.loops[n][1]
    chosen = accepted(specialize, result.program, inner, (6, 5, 4, 3, 2, 1))
    assert "else:" not in body(chosen.program)
    check_same(program, chosen.program, MATVEC_DATA)
    check_same_compiled(program, chosen.program, MATVEC_DATA, "y")


def test_overlapping_blocks_after_a_dispatch(golden):
    program = parse(MATVEC)
    result = accepted(dispatch, program, loop(program, "n"), (4,))
    after = accepted(split, result.program, loop(program, "n"), 4, Tail.OVERLAP).program
    golden("split_overlap.txt", body(program) + "\nsplit(n, 4)\n\n" + body(after))
    data = [matvec_data(count, seed=count) for count in range(13)]
    check_same(program, after, data)
    check_same_compiled(program, after, data, "y")


def test_a_loop_that_may_be_short_is_refused():
    program = parse(MATVEC)
    assert refused(split, program, loop(program, "n"), 4, Tail.OVERLAP) == (
        "split: cannot overlap blocks of loop 'n'\n"
        "  because: it is not proven to have 4 iterations\n"
        "  example: count = 1\n"
        "  fix: dispatch(n, (4,)) first: the loop itself has as many"
    )


def test_an_overlapping_reduction_is_refused():
    program = parse(MATVEC)
    assert refused(split, program, loop(program, "j"), 4, Tail.OVERLAP) == (
        "split: cannot overlap blocks of loop 'j'\n"
        "  because: an iteration reads 't' before it writes it, and would read what it wrote\n"
        "  fix: Tail.PEEL"
    )


def test_an_overlapping_iteration_that_updates_in_place_is_refused():
    program = parse(
        LINE.format(kind="serial", extent="13", index="i").replace("x[i] = 1.0", "x[i] = x[i] * 2.0")
    )
    assert refused(split, program, loop(program, "i"), 4, Tail.OVERLAP) == (
        "split: cannot overlap blocks of loop 'i'\n"
        "  because: an iteration reads 'x' before it writes it, and would read what it wrote\n"
        "  fix: Tail.PEEL"
    )


def test_overlapping_iterations_of_a_parallel_loop_are_refused():
    program = parse(LINE.format(kind="parallel", extent="13", index="i"))
    assert refused(split, program, loop(program, "i"), 4, Tail.OVERLAP) == (
        "split: cannot overlap blocks of loop 'i'\n"
        "  because: it is parallel: two blocks would write one element at once"
    )


def test_overlapping_iterations_that_depend_on_others_are_refused():
    program = parse(
        LINE.format(kind="serial", extent="13", index="i").replace("x[i] = 1.0", "x[i + 1] = x[i] + 1.0")
    )
    with pytest.raises(ScheduleError, match="cannot overlap blocks of loop 'i'"):
        split(program, loop(program, "i"), 4, Tail.OVERLAP)


def test_overlapping_iterations_that_write_one_element_are_refused():
    program = line("13", index="i // 2")
    assert refused(split, program, loop(program, "i"), 4, Tail.OVERLAP) == (
        "split: cannot overlap blocks of loop 'i'\n"
        "  because: 'x' may in both iterations touch one element of 'x'\n"
        "  example: i = 0, i' = 1\n"
        "  fix: Tail.PEEL"
    )


def test_an_iteration_reads_what_it_has_stored_itself():
    text = LINE.format(kind="serial", extent="13", index="i").replace(
        "x[i] = 1.0", "x[i]: first = float32(i)\n        x[i]: second = x[i] * 2.0"
    )
    program = parse(text)
    after = accepted(split, program, loop(program, "i"), 4, Tail.OVERLAP).program
    check_same(program, after, [({"count": 13, "start": 0}, {})])


WITH_BARRIER = """\
program("barrier")

workers: call()
x: output(float32[workers])

with kernel:
    for w in team(workers):
        for i in serial(13):
            barrier(team)
        x[w] = 1.0
"""


def test_overlapping_iterations_with_a_barrier_are_refused():
    program = parse(WITH_BARRIER)
    assert refused(split, program, loop(program, "i"), 4, Tail.OVERLAP) == (
        "split: cannot overlap blocks of loop 'i'\n  because: a barrier stands in it"
    )


LOCAL = """\
program("local")

x: output(float32[1])

with kernel:
    t = local(float32[13])
    for i in serial(13):
        t[i] = 1.0
    x[0] = t[0]
"""


def test_overlapping_iterations_that_write_a_buffer_of_an_outer_scope_are_refused():
    program = parse(LOCAL)
    assert refused(split, program, loop(program, "i"), 4, Tail.OVERLAP) == (
        "split: cannot overlap blocks of loop 'i'\n  because: 't' is local to what is around it, or an alias"
    )


@pytest.mark.parametrize(
    ("factor", "tail", "message"),
    [
        (1.5, Tail.GUARD, "into blocks of 1.5"),
        (2**70, Tail.GUARD, f"into blocks of {2**70}"),
        (
            2,
            "peel",
            "split: cannot split loop 'n': 'peel' is no tail\n  fix: Tail.PEEL, or another `Tail`",
        ),
    ],
)
def test_a_factor_is_an_integer_and_a_tail_one_of_the_enumeration(factor, tail, message):
    program = parse(MATVEC)
    assert message in refused(split, program, loop(program, "n"), factor, tail)


def test_an_overlapping_iteration_that_stores_only_sometimes_is_refused():
    """What it reads of an earlier time would be another's, where it has not stored."""
    text = LINE.format(kind="serial", extent="13", index="i").replace(
        "x[i] = 1.0",
        "if {condition}:\n            for j in serial(1):\n                x[i + j] = 1.0\n"
        "        for k in serial(1):\n            x[i + k]: again = x[i + k] + 1.0",
    )
    program = parse(text.format(condition="i % 2 == 0"))
    assert "reads 'x' before it writes it" in refused(split, program, loop(program, "i"), 4, Tail.OVERLAP)
