"""fuse_ragged with tables: rows of any length, and bodies that need the row and the place in it."""

import numpy as np
import pytest

from ragged.ir.expr import Source
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.layout.derived import derived_tables
from ragged.layout.prelude import prelude_programs
from ragged.schedule.fuse_ragged import fuse_ragged
from tests.ragged.schedule.data_support import valid
from tests.ragged.schedule.support import body, loop, refused

ROWS = """\
program("rows")

rows: structure()
n: structure(b < rows) = facts(0 <= n(b) < 9)
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
    wanted = [function for function in program.functions if function.source is Source.PRELUDE]
    for prelude in prelude_programs("tables", program.functions, derived_tables(program, ()), wanted):
        names = {function.name for function in prelude.functions}
        filled = interpret(prelude, sizes, {k: v for k, v in arrays.items() if k in names})
        arrays |= {name.removesuffix("_table"): table for name, table in filled.items()}
    return sizes, arrays


@pytest.mark.parametrize(
    ("first", "second", "tables"),
    [
        ("n(b)", "n(c)", ["t_begin", "t_begin_row"]),
        ("(n(b) + 1) // 2 * 2", "(n(c) + 1) // 2 * 2", ["t_begin", "t_begin_row"]),
        ("n(b)", "n(c) // 2", ["t_begin", "t_begin_row", "u_begin", "u_begin_row"]),
        ("n(b) - 1", "n(c)", ["t_begin", "t_begin_row", "u_begin", "u_begin_row"]),
    ],
    ids=["lengths", "padded", "halves", "may be negative"],
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
