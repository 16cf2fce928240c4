"""fuse_ragged with tables: rows of any length, and bodies that need the row and the place in it."""

import numpy as np
import pytest

from ragged.errors import InternalError
from ragged.ir.expr import Source
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.parser import parse
from ragged.transform.loops.fuse_ragged import fuse_ragged
from tests.ragged.transform.data_support import valid
from tests.ragged.transform.support import body, loop, refused
from tests.support.tables import filled_tables

ROWS = """\
program("rows")

rows: input()
n: input(b < rows) = facts(0 <= n(b) < 9)
x: payload(float32[rows, 9])
y: output(float32[rows, 9])
z: output(float32[rows, 9])

with kernel:
    for b in parallel(rows):
        for t in parallel({first}):
            y[b, t] = x[b, t] * 2.0
    for c in parallel(rows):
        for u in parallel({second}):
            z[c, u] = x[c, u] + float32(u)
"""
DATA = [[], [0], [3, 0, 1, 8], [0, 0]]


def rows(first="n(b)", second="n(c)"):
    return parse(ROWS.format(first=first, second=second))


def fused(program):
    new = valid(fuse_ragged, program, loop(program, "b"), loop(program, "t"), tables=True).program
    return valid(fuse_ragged, new, loop(new, "c"), loop(new, "u"), tables=True).program


def data(program, lengths):
    """Return data for a program, its tables filled by the prelude that its facts say."""
    rng = np.random.default_rng(len(lengths))
    x = rng.standard_normal((len(lengths), 9)).astype(np.float32)
    sizes, arrays = {"rows": len(lengths)}, {"n": np.array(lengths, np.int32), "x": x}
    return sizes, arrays | filled_tables(program, sizes, arrays)


@pytest.mark.parametrize(
    ("first", "second", "tables"),
    [
        ("n(b)", "n(c)", ["t_begin", "t_begin_row"]),
        ("(n(b) + 1) // 2 * 2", "(n(c) + 1) // 2 * 2", ["t_begin", "t_begin_row"]),
        ("n(b)", "n(c) // 2", ["t_begin", "t_begin_row", "u_begin", "u_begin_row"]),
        ("n(b) - 1", "n(c)", ["t_begin", "t_begin_row", "u_begin", "u_begin_row"]),
        ("n(b) - 1", "n(c) - 1", ["t_begin", "t_begin_row"]),
        ("b + 1", "c + 1", ["t_begin", "t_begin_row"]),
        ("b + 1", "c + 2", ["t_begin", "t_begin_row", "u_begin", "u_begin_row"]),
    ],
    ids=["lengths", "padded", "halves", "may be negative", "one or more", "triangle", "two triangles"],
)
def test_every_length_that_a_prelude_can_compute(first, second, tables):
    program = rows(first, second)
    new = fused(program)
    assert [f.name for f in new.functions if f.source is Source.PRELUDE] == tables
    cases = [data(new, [min(k, 8) // 2 * 2 for k in lengths]) for lengths in DATA]
    for sizes, arrays in cases:
        want = interpret(program, sizes, {name: arrays[name] for name in ("n", "x")})
        got = interpret(new, sizes, arrays, seed=1)
        for name in ("y", "z"):
            np.testing.assert_array_equal(got[name], want[name])


def test_text():
    program = rows()
    assert (
        body(fused(program))
        == """\
    for b_t in parallel(t_begin(rows)):
        b = t_begin_row(b_t)
        t = b_t - t_begin(b)
        y[b, t] = x[b, t] * 2.0
    for c_u in parallel(t_begin(rows)):
        c = t_begin_row(c_u)
        u = c_u - t_begin(c)
        z[c, u] = x[c, u] + float32(u)
"""
    )


OFFSETS = """\
program("offsets")

rows: input()
n: input(b < rows)
begin: input(b < rows + 1) = facts(prefix_sum(n), 0 <= begin(b) < 9)
x: payload(float32[9])
y: output(float32[9])

with kernel:
    for b in parallel(rows):
        for t in parallel(n(b)):
            y[begin(b) + t] = x[begin(b) + t] * 2.0
"""


@pytest.mark.parametrize("begin", [[1, 3, 6], [0, 2, 4], [0, -1, 2]])
def test_offsets_of_the_call_are_checked_before_they_are_relied_on(begin):
    program = parse(OFFSETS)
    new = valid(fuse_ragged, program, loop(program, "b"), loop(program, "t"), tables=True).program
    x = np.arange(9, dtype=np.float32)
    right = {"n": np.array([2, 3], np.int32), "begin": np.array([0, 2, 5], np.int32), "x": x}
    np.testing.assert_array_equal(interpret(new, {"rows": 2}, right)["y"][:5], 2 * x[:5])
    with pytest.raises(CheckFailed, match="begin"):
        interpret(new, {"rows": 2}, right | {"begin": np.array(begin, np.int32)})


def test_lengths_from_which_offsets_are_made_are_checked():
    """That no length is negative is what allows the offsets to be those of the lengths as they are."""
    program = rows()
    new = valid(fuse_ragged, program, loop(program, "b"), loop(program, "t"), tables=True).program
    sizes, arrays = data(new, [2, 1])
    with pytest.raises(CheckFailed, match=r"n\(1\) = -1 is not in \[0, 9\)"):
        interpret(new, sizes, arrays | {"n": np.array([2, -1], np.int32)})


def test_lengths_that_are_computed_are_refused():
    program = rows("int64(x[b, 0])")
    assert refused(fuse_ragged, program, loop(program, "b"), loop(program, "t"), tables=True) == (
        "fuse_ragged: cannot fuse the loops 'b' and 't'\n"
        "  because: how long a row is, int64(x[b, 0]), reads 'x', and a prelude reads lengths alone"
    )


def test_without_tables_a_body_needs_no_more_than_its_place():
    program = rows()
    assert refused(fuse_ragged, program, loop(program, "b"), loop(program, "t")) == (
        "fuse_ragged: cannot fuse the loops 'b' and 't'\n"
        "  because: 't' runs n(b) times, which are not the lengths of consecutive rows of a prefix sum\n"
        "  fix: fuse(outer, inner) if all rows have one length"
    )


def test_the_bind_stage_has_no_tables():
    program = parse("""\
program("bound")

w: parameter(float32[4, 4])
table: bound(float32[4, 4])
y: output(float32[4, 4])

with bind:
    for a in serial(4):
        for c in serial(4):
            table[a, c] = w[c, a]

with kernel:
    for b in serial(4):
        for t in serial(4):
            y[b, t] = table[b, t]
""")
    assert refused(fuse_ragged, program, loop(program, "a"), loop(program, "c"), tables=True) == (
        "fuse_ragged: cannot fuse the loops 'a' and 'c'\n"
        "  because: 'a' runs when parameters are bound, and tables are filled later, for each call\n"
        "  fix: fuse(outer, inner) if all rows have one length"
    )
    valid(fuse_ragged, program, loop(program, "b"), loop(program, "t"), tables=True)


def test_places_of_rows_whose_offsets_are_given():
    """The offsets come with the call, the table of rows does not: it is filled from them."""
    program = parse("""\
program("given")

rows: input()
begin: input(b < rows + 1) = facts(monotone(), 0 <= begin(b) < 9)
x: payload(float32[rows, 9])
y: output(float32[rows, 9])

with kernel:
    for b in parallel(rows):
        for t in parallel(begin(b + 1) - begin(b)):
            y[b, t] = x[b, t] * 2.0
""")
    new = valid(fuse_ragged, program, loop(program, "b"), loop(program, "t"), tables=True).program
    assert [f.name for f in new.functions if f.source is Source.PRELUDE] == ["begin_row"]
    x = np.random.default_rng(0).standard_normal((4, 9)).astype(np.float32)
    sizes, arrays = {"rows": 4}, {"begin": np.array([0, 3, 3, 4, 8], np.int32), "x": x}
    tables = filled_tables(new, sizes, arrays)
    assert tables["begin_row"].tolist() == [0, 0, 0, 2, 3, 3, 3, 3]
    want, got = interpret(program, sizes, arrays), interpret(new, sizes, arrays | tables)
    np.testing.assert_array_equal(got["y"], want["y"])


def test_tables_that_are_made_of_each_other_are_a_fault():
    """Lengths that are the differences of their own offsets: no prelude can fill those."""
    program = parse("""\
program("circle")

rows: input()
begin: prelude(b < rows + 1) = facts(prefix_sum(length), monotone())
length: expression(b < rows, begin(b + 1) - begin(b)) = facts(0 <= length(b) < 9)
y: output(float32[rows])

with kernel:
    for b in serial(rows):
        y[b] = float32(length(b))
""")
    with pytest.raises(InternalError, match="the tables 'begin' are made of each other"):
        filled_tables(program, {"rows": 2}, {})


DEEP = """\
program("deep")

count: input()
most: input()
m: input(a < count) = facts(0 <= m(a) < most + 1)
n: input(b < most) = facts(0 <= n(b) < 9)
y: output(float32[most, 9])

with kernel:
    for a in serial(count):
        for b in parallel(m(a)):
            for t in parallel(n(b)):
                y[b, t] = 1.0
"""


def test_as_many_rows_as_a_loop_around_says_are_refused():
    program = parse(DEEP)
    assert refused(fuse_ragged, program, loop(program, "b"), loop(program, "t"), tables=True) == (
        "fuse_ragged: cannot fuse the loops 'b' and 't'\n"
        "  because: how many rows there are, m(a), depends on 'a', and a prelude has no such loop\n"
        "  fix: fuse it with the loop 'a' first"
    )


TWO = """\
program("two")

rows: input()
n: input(b < rows{more}) = facts(0 <= n(b) < 4)
m: input(b < rows) = facts(0 <= m(b) < 4)
low: input(b < rows + 1) = facts(prefix_sum(m))
high: input(b < rows + 1) = facts(prefix_sum(m))
half: expression(b < rows, m(b) // 2)
mid: input(b < rows + 1) = facts(prefix_sum(half))
y: output(float32[rows, 20])

with kernel:
    for b in serial(rows):
        for t in serial(20):
            y[b, t]: y.start = 0.0
    for b in parallel(rows):
        for t in parallel({extent}):
            y[b, t] = float32(b + t)
"""


@pytest.mark.parametrize(
    ("extent", "more", "made"),
    [
        ("low(b + 1) - low(b)", "", ["low_row"]),
        ("high(b + 1) - low(b)", "", ["t_length", "t_begin", "t_begin_row"]),
        ("low(b + 2 - 1) - low(b)", "", ["low_row"]),
        ("half(b)", "", ["mid_row"]),
        ("m(b) // 2", "", ["mid_row"]),
        ("n(b)", "", ["t_begin", "t_begin_row"]),
        ("n(b)", " + 1", ["t_length", "t_begin", "t_begin_row"]),
        ("n(rows - 1 - b)", "", ["t_length", "t_begin", "t_begin_row"]),
    ],
)
def test_which_lengths_and_offsets_are_made(extent, more, made):
    program = parse(TWO.format(extent=extent, more=more))
    (outer, inner) = (loop(program, name, 1) for name in "bt")
    new = valid(fuse_ragged, program, outer, inner, tables=True).program
    old = {each.name for each in program.functions}
    assert [each.name for each in new.functions if each.name not in old] == made
    m = np.array([2, 0, 3], np.int32)
    sizes, arrays = {"rows": 3}, {"n": np.array([1, 3, 0, 2][: 3 + bool(more)], np.int32), "m": m}
    arrays |= {name: np.array([0, 2, 2, 5], np.int32) for name in ("low", "high")}
    arrays["mid"] = np.array([0, 1, 1, 2], np.int32)
    got = interpret(new, sizes, arrays | filled_tables(new, sizes, arrays))["y"]
    np.testing.assert_array_equal(got, interpret(program, sizes, arrays)["y"])


AROUND = """\
program("around")

rows: input()
most: input()
n: input(b < most) = facts(0 <= n(b) < 9)
y: output(float32[rows, 9])

with kernel:
    for a in serial(rows):
        for k in serial(9):
            y[a, k]: y.start = 0.5
    if {condition}:
        for b in parallel({count}):
            for t in parallel({extent}):
                y[b, t] = 1.0
"""


def around(condition, count, extent):
    program = parse(AROUND.format(condition=condition, count=count, extent=extent))
    return program, loop(program, "b"), loop(program, "t")


@pytest.mark.parametrize("rows", [0, 1, 3, 5])
def test_a_prelude_asks_no_condition_around_the_loops(rows):
    """Where it does not hold, `rows - 3` is negative: no loop runs, and the tables are filled all the same."""
    program, b, t = around("3 < rows", "rows", "min(rows - 3, 9)")
    new = valid(fuse_ragged, program, b, t, tables=True).program
    sizes, arrays = {"rows": rows, "most": 1}, {"n": np.array([2], np.int32)}
    got = interpret(new, sizes, arrays | filled_tables(new, sizes, arrays))["y"]
    np.testing.assert_array_equal(got, interpret(program, sizes, arrays)["y"])


@pytest.mark.parametrize(
    ("condition", "count", "extent", "message"),
    [
        (
            "rows < most + 1",
            "rows",
            "n(b)",
            "n(b) has no value unless 0 <= b and b < most, which is not proven\n  example: b = 0, rows = 1, most = 0",
        ),
        (
            "0 < most and n(0) < rows",
            "n(0)",
            "2",
            "n(0) has no value unless 0 <= 0 and 0 < most, which is not proven\n  example: most = 0",
        ),
        (
            "3 < rows",
            "rows - 3",
            "2",
            "how many rows there are, rows - 3, may be negative where no condition is asked\n  example: rows = 0",
        ),
    ],
    ids=["lengths", "rows", "negative"],
)
def test_what_is_known_under_a_condition_alone_is_refused(condition, count, extent, message):
    assert refused(fuse_ragged, *around(condition, count, extent), tables=True) == (
        f"fuse_ragged: cannot fuse the loops 'b' and 't'\n  because: {message}"
    )


def test_facts_by_which_there_are_rows_are_checked():
    text = AROUND.replace("most: input()", "most: input() = facts(1 <= most < 9)")
    program = parse(text.format(condition="0 < rows", count="most - 1", extent="2"))
    new = valid(fuse_ragged, program, loop(program, "b"), loop(program, "t"), tables=True).program
    with pytest.raises(CheckFailed, match="most = 0 is not in"):
        interpret(new, {"rows": 8, "most": 0}, {"n": np.zeros(0, np.int32)})


@pytest.mark.parametrize("extent", ["half(b)", "m(b) // 2"])
def test_lengths_of_given_offsets_by_name_and_written_out(extent):
    text = TWO.format(more="", extent=extent).replace("y[b, t] = float32(b + t)", "y[0, mid(b) + t] = 1.0")
    program = parse(text)
    new = valid(fuse_ragged, program, loop(program, "b", 1), loop(program, "t", 1)).program
    assert "for b_t in parallel(mid(rows) - mid(0)):" in body(new)
