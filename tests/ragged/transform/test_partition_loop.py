"""partition_loop: a loop's range in two."""

import numpy as np
import pytest

from ragged.errors import ScheduleError
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.ir.rewrite import loops_of
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.schedule.names import read_index
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.split import split
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.programs import MATVEC, TREE
from tests.ragged.transform.ragged_programs import ROWS, ROWS_DATA
from tests.ragged.transform.support import MATVEC_DATA, TREE_DATA, body, check_same, loop, refused

LINE = """\
program("line")

count: input()
start: input() = facts(0 <= start < 5)
first: input(b < count)
x: output(float32[count])
left: output(int64[1])

with kernel:
    left[0]: left.init = 3
    for i in {kind}({extent}):
        {line}
"""


def line(extent="count", kind="serial", line="x[i] = 1.0"):
    return parse(LINE.format(extent=extent, kind=kind, line=line))


def at(program, name, text, nth=0):
    """Return the arguments of a cut of a loop at an index in text."""
    var = loop(program, name, nth)
    return var, read_index(program, var, text)


def test_text(golden):
    program = parse(ROWS)
    var, place = at(program, "k", "n(b) // 8 * 8")
    result = valid(partition_loop, program, var, place)
    assert [each.name for each in result.forwarding.loops[var]] == ["k", "k_rest"]
    golden("partition_loop.txt", f"{body(program)}\ncut(k, n(b) // 8 * 8)\n\n{body(result.program)}")
    same(program, result.program, ROWS_DATA)


@pytest.mark.parametrize("text", ["0", "3", "1000", "-2", "{e} // 4 * 4", "{e} - 1", "{e} + 2", "{e} % 3"])
def test_every_loop_anywhere_computes_the_same(text):
    for source, data in ((MATVEC, MATVEC_DATA), (TREE, TREE_DATA), (ROWS, ROWS_DATA)):
        program = new = parse(source)
        for var in loops_of(program):
            extents = {"n": "count", "k": "n(b)"} if source != TREE else {}
            place = read_index(new, var, text.format(e=extents.get(var.name, "6")))
            new = valid(partition_loop, new, var, place).program
        check_same(program, new, data)


def test_reductions_keep_their_order_and_start_once():
    program = parse(ROWS)
    new = valid(partition_loop, program, *at(program, "k", "n(b) // 8 * 8")).program
    assert "s[b]: s.rest = reduce(sum, a[b, n(b) // 8 * 8 + k_rest], init=s[b])" in body(new)
    new = valid(split, new, loop(new, "k"), 8).program
    same(program, new, ROWS_DATA)
    same_compiled(program, new, ROWS_DATA)


def test_a_cut_part_is_cut_again():
    program = new = parse(ROWS)
    for text in ("n(b) // 4 * 4", "n(b) // 8 * 8", "2"):
        new = valid(partition_loop, new, *at(new, "k", text)).program
    var = loop(new, "k_rest")
    new = valid(partition_loop, new, var, read_index(new, var, "1")).program
    same(program, new, ROWS_DATA)
    same_compiled(program, new, ROWS_DATA)


def test_an_outer_loop_takes_what_is_in_it_along():
    program = parse(ROWS)
    result = valid(partition_loop, program, *at(program, "b", "rows // 2"))
    assert [len(copies) for copies in result.forwarding.loops.values()] == [2, 2, 2]
    same(program, result.program, ROWS_DATA)
    same_compiled(program, result.program, ROWS_DATA)


@pytest.mark.parametrize(
    ("extent", "place", "first", "rest"),
    [
        ("12", "4", "4", "8"),
        ("12", "20", "12", "0"),
        ("12", "-1", "0", "12"),
        ("count", "count // 8 * 8", "count // 8 * 8", "count - count // 8 * 8"),
        ("count", "8", "min(8, count)", "count - min(8, count)"),
        ("count", "count", "count", "0"),
        ("count - start", "0", "max(min(0, count - start), 0)", None),
        ("count + start", "start", "start", "count"),
        ("count", "count - 1", "max(count - 1, 0)", "count - max(count - 1, 0)"),
    ],
)
def test_minima_and_maxima_stand_where_nothing_is_proven(extent, place, first, rest):
    program = line(extent)
    text = body(valid(partition_loop, program, *at(program, "i", place)).program)
    assert f"for i in serial({first}):" in text
    if rest is not None:
        assert f"for i_rest in serial({rest}):" in text


def test_a_part_that_can_never_run_is_cut_as_any_other():
    """Where nothing runs all can be proven, also that 7 is no more than 4."""
    program = line("0", line="for j in serial(4):\n            x[i] = 1.0")
    assert "for j in serial(4):" in body(valid(partition_loop, program, *at(program, "j", "7")).program)
    assert "for j in serial(0):" in body(valid(partition_loop, program, *at(program, "j", "-1")).program)


@pytest.mark.parametrize("count", range(7))
def test_extents_that_may_be_negative(count):
    program = line("count - start")
    for place in ("2", "-3", "count", "start - 2"):
        new = valid(partition_loop, program, *at(program, "i", place)).program
        same(program, new, [({"count": count, "start": 3}, {"first": np.zeros(count, np.int32)})])


def test_facts_that_are_relied_on_are_checked():
    program = parse(ROWS)
    new = valid(partition_loop, program, *at(program, "k", "n(b) // 8 * 8")).program
    assert new.stage(StageKind.PRELUDE) is not None
    sizes, arrays = ROWS_DATA[-1]
    arrays = {**arrays, "n": arrays["n"] - 1}
    interpret(program, sizes, arrays)  # a row of a negative length is as good as an empty one
    with pytest.raises(CheckFailed, match="is not in"):
        interpret(new, sizes, arrays)


def test_kinds_stay():
    program = line(kind="unrolled", extent="7")
    assert body(valid(partition_loop, program, *at(program, "i", "4")).program).count("unrolled") == 2
    program = line(kind="parallel")
    result = valid(partition_loop, program, *at(program, "i", "count // 2"))
    assert body(result.program).count("parallel") == 2


def test_guards_go_with_the_loop_that_needs_none():
    program = parse(ROWS.replace("serial(32)", "serial((n(b) + 15) // 16 * 16)"))
    new = valid(partition_loop, program, *at(program, "t", "n(b) // 16 * 16")).program
    new = valid(simplify_guards, new, loop(new, "t")).program
    new = valid(simplify_guards, new, loop(new, "t_rest")).program
    assert body(new).count("if ") == 1 and "if n(b) // 16 * 16 + t_rest < n(b):" in body(new)


def test_lanes_and_workers_are_refused():
    for kind, extent in (("vectorized", "8"), ("team", "count")):
        program = line(kind=kind, extent=extent, line="x[i] = 1.0")
        assert refused(partition_loop, program, *at(program, "i", "4")) == (
            f"partition_loop: cannot cut loop 'i', as it is {kind}\n"
            "  because: its iterations are lanes or workers\n"
            "  fix: partition_loop first"
        )


def test_what_is_not_known_there_is_refused():
    program = parse(ROWS)
    var, place = loop(program, "b"), at(program, "k", "n(b)")[1]
    assert refused(partition_loop, program, var, place) == (
        "partition_loop: cannot cut loop 'b'\n  because: n(b) names 'b', which is not known there"
    )
    assert refused(partition_loop, program, var, at(line(), "i", "count")[1]) == (
        "partition_loop: cannot cut loop 'b'\n  because: count names 'count', which is not known there"
    )
    other = at(line(line="x[i] = float32(left[0])"), "i", "left[0]")[1]
    assert refused(partition_loop, program, var, other) == (
        "partition_loop: cannot cut loop 'b'\n  because: left[0] names 'left', which is not known there"
    )
    assert refused(partition_loop, program, *at(program, "b", "rows < 3")) == (
        "partition_loop: cannot cut loop 'b'\n  because: rows < 3 is bool, and no index"
    )


def test_what_a_call_gives_is_not_known_when_binding():
    text = ROWS.replace(
        "s: output", "w: parameter(int64[8])\ntable: bound(int64[8])\nother: bound(int64[8])\ns: output"
    )
    binding = (
        "with bind:\n    for z in serial(8):\n        other[z] = w[z]\n"
        "    for i in serial(8):\n        table[i] = w[i]\n\nwith kernel:"
    )
    program = parse(text.replace("with kernel:", binding))
    for place, name in (("rows", "rows"), ("int64(a[0, 0])", "a")):
        assert refused(partition_loop, program, *at(program, "i", place)) == (
            f"partition_loop: cannot cut loop 'i'\n  because: {place} names '{name}', which is not known there"
        )
    for place in ("w[0]", "other[1]", "3"):
        new = valid(partition_loop, program, *at(program, "i", place)).program
        data = [(sizes, {**arrays, "w": np.arange(8, dtype=np.int64)}) for sizes, arrays in ROWS_DATA]
        same(program, new, data)


def test_what_may_have_no_value_is_refused():
    program = line()
    assert refused(partition_loop, program, *at(program, "i", "first(start)")) == (
        "partition_loop: cannot cut loop 'i'\n"
        "  because: first(start) has no value unless 0 <= start and start < count, which is not proven\n"
        "  example: start = 0, count = 0"
    )
    assert refused(partition_loop, program, *at(program, "i", "count // start")) == (
        "partition_loop: cannot cut loop 'i'\n"
        "  because: count // start has no value unless start != 0, which is not proven\n"
        "  example: start = 0"
    )
    guarded = at(program, "i", "first(0) if 0 < count else 3")
    assert "first(0) if 0 < count else 3" in body(valid(partition_loop, program, *guarded).program)


def test_what_the_extent_looks_up_needs_no_proof():
    program = line(extent="first(left[0])")
    text = body(valid(partition_loop, program, *at(program, "i", "first(left[0]) // 2")).program)
    assert "for i in serial(max(min(first(left[0]) // 2, first(left[0])), 0)):" in text


def test_what_the_loop_writes_is_refused():
    program = line(extent="left[0]", line="left[0] = i")
    assert "left[0] would be evaluated at another time" in refused(
        partition_loop, program, *at(program, "i", "2")
    )
    program = line(line="left[0] = i")
    assert refused(partition_loop, program, *at(program, "i", "left[0]")) == (
        "partition_loop: cannot cut loop 'i'\n"
        "  because: left[0] would be evaluated at another time, and 'left' is written in between"
    )


def test_the_log_says_where():
    program = parse(ROWS)
    s = LoopSchedule(program)
    s.apply(partition_loop, s.loop("k"), s.index("n(b) // 8 * 8", s.loop("k")))
    assert s.log() == "s.apply(partition_loop, s.loop('k'), s.index('n(b) // 8 * 8', s.loop('k')))"
    again = LoopSchedule(program)
    exec(s.log(), {"s": again, "partition_loop": partition_loop})
    assert str(again.program) == str(s.program)


def test_an_index_that_is_none_is_refused():
    s = LoopSchedule(parse(ROWS))
    k = s.loop("k")
    with pytest.raises(ScheduleError) as caught:
        s.index("n(b", k)
    assert str(caught.value) == (
        "index: 'n(b' is no index where loop 'k' stands\n  because: '(' was never closed"
    )
    with pytest.raises(ScheduleError) as caught:
        s.index("n(t)", k)
    assert str(caught.value) == (
        "index: 'n(t)' is no index where loop 'k' stands\n  because: unknown name 't'"
    )
