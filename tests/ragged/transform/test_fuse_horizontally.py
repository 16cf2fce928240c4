"""fuse_horizontally: two parallel loops as one over the iterations of both."""

import numpy as np
import pytest

from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.schedule.names import read_index
from ragged.transform.loops.fuse_horizontally import fuse_horizontally
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.support import body, loop, refused

PAIR = """\
program("pair")

rows: input()
columns: input()
length: input(i < 1) = facts(0 <= length(i) < 9)
a: payload(float32[8])
b: payload(float32[8])
x: output(float32[9])
y: output(float32[9])
z: output(int64[1])

with kernel:
    for k in serial(9):
        x[k]: x.init = 0.0
        y[k]: y.init = 0.0
    z[0]: z.init = 3
    for n in {first}:
        {one}
    for m in {second}:
        {two}
"""


def pair(one="x[n] = abs(a[n])", two="y[m] = b[m]", first="parallel(rows)", second="parallel(columns)"):
    program = parse(PAIR.format(one=one, two=two, first=first, second=second))
    return program, loop(program, "n"), loop(program, "m")


def data(*sizes):
    random = np.random.default_rng(0)
    arrays = {name: random.standard_normal(8).astype(np.float32) for name in "ab"}
    arrays["length"] = np.array([3], np.int32)
    return [({"rows": rows, "columns": columns}, arrays) for rows, columns in sizes]


DATA = data((0, 0), (3, 0), (0, 3), (1, 1), (8, 5), (2, 8))


def test_text(golden):
    program, n, m = pair()
    result = valid(fuse_horizontally, program, n, m)
    (fused,) = result.forwarding.loops[n]
    assert result.forwarding.loops[m] == (fused,) and fused.name == "n_m"
    golden("fuse_horizontally.txt", f"{body(program)}\nfuse_horizontally(n, m)\n\n{body(result.program)}")
    same(program, result.program, DATA)
    same_compiled(program, result.program, DATA)


@pytest.mark.parametrize(
    ("first", "second", "extent"),
    [
        ("rows - 2", "columns", "max(rows - 2, 0) + columns"),
        ("columns", "rows - 5", "columns + max(rows - 5, 0)"),
        ("rows", "length(0)", "rows + length(0)"),
        ("3", "5", "8"),
        ("0", "columns", "columns"),
    ],
)
def test_extents(first, second, extent):
    program, n, m = pair(first=f"parallel({first})", second=f"parallel({second})")
    new = valid(fuse_horizontally, program, n, m).program
    assert f"parallel({extent})" in body(new)
    same(program, new, DATA)


def test_facts_that_are_relied_on_are_checked():
    program, n, m = pair(second="parallel(length(0))")
    new = valid(fuse_horizontally, program, n, m).program
    assert new.stage(StageKind.PRELUDE) is not None
    ((sizes, arrays),) = data((3, 3))
    with pytest.raises(CheckFailed, match="is not in"):
        interpret(new, sizes, {**arrays, "length": np.array([-1], np.int32)})


def test_three_loops_one_after_another():
    program, n, m = pair()
    cut_one = valid(partition_loop, program, m, read_index(program, m, "columns // 2"))
    early, late = cut_one.forwarding.loops[m]
    result = valid(fuse_horizontally, cut_one.program, n, early)
    new = valid(fuse_horizontally, result.program, result.forwarding.loops[n][0], late).program
    same(program, new, DATA)
    same_compiled(program, new, DATA)


def test_loops_inside_go_along():
    program, n, m = pair(
        one="for i in serial(2):\n            for j in serial(4):\n                x[n] += a[i * 4 + j]",
        two="t = local(float32[2])\n        t[1] = b[m]\n        y[m]: y.t = t[1] + t[1]",
    )
    new = valid(fuse_horizontally, program, n, m).program
    same(program, new, DATA)
    same_compiled(program, new, DATA)


def test_a_team_shares_both_out():
    program, n, m = pair()
    text = str(program)
    start = text.index("    for k in serial(9):")
    program = parse(text[:start] + text[text.index("    for n in") :].replace("[9]", "[8]"))
    n, m = loop(program, "n"), loop(program, "m")
    new = valid(fuse_horizontally, program, n, m).program
    team = valid(distribute_over_team, new).program
    assert body(team).count("for n_m_s in serial(") == 1 and "barrier" not in body(team)
    for sizes, arrays in data((8, 8)):
        for workers in (1, 2, 3):
            got = interpret(team, sizes, arrays, workers=workers)
            np.testing.assert_array_equal(got["y"][:8], arrays["b"])


def test_loops_that_depend_on_each_other_are_refused():
    program, n, m = pair(two="y[m] = x[8 - m]")
    assert refused(fuse_horizontally, program, n, m) == (
        "fuse_horizontally: cannot make one of the loops 'n' and 'm'\n"
        "  because: 'x' and 'y' may touch one element of 'x'\n"
        "  example: n = 3, m' = 5, rows = 4, columns = 6"
    )
    program, n, m = pair(two="x[m]: x.more = 1.0")
    assert "may touch one element of 'x'" in refused(fuse_horizontally, program, n, m)
    program, n, m = pair(one="x[n] = y[n]")
    assert "may touch one element of 'y'" in refused(fuse_horizontally, program, n, m)


def test_parts_of_one_buffer_that_do_not_meet_are_none():
    program, n, m = pair("x[n] = a[n]", "x[8 - m]: x.late = b[m]", "parallel(4)", "parallel(5)")
    same(program, valid(fuse_horizontally, program, n, m).program, DATA)


def test_a_check_keeps_its_place():
    program, n, m = pair(one='check(n < 8, "no")')
    assert refused(fuse_horizontally, program, n, m) == (
        "fuse_horizontally: cannot make one of the loops 'n' and 'm'\n"
        "  because: 'check' may not change places with anything: what comes after may rely on it"
    )


def test_loops_that_do_not_follow_each_other_are_refused():
    program, n, m = pair()
    assert refused(fuse_horizontally, program, m, n) == (
        "fuse_horizontally: cannot make one of the loops 'm' and 'n'\n"
        "  because: 'n' does not stand directly after 'm'"
    )


def test_loops_with_an_order_are_refused():
    for kinds in (("serial", "parallel"), ("parallel", "serial")):
        program, n, m = pair(first=f"{kinds[0]}(rows)", second=f"{kinds[1]}(columns)")
        name = "n" if kinds[0] == "serial" else "m"
        assert refused(fuse_horizontally, program, n, m) == (
            "fuse_horizontally: cannot make one of the loops 'n' and 'm'\n"
            f"  because: '{name}' is serial, and one loop of both has no order\n"
            f"  fix: parallel({name}) first, if its iterations are independent"
        )


def test_an_extent_that_one_of_them_writes_is_refused():
    program, n, m = pair(one="z[0] = 5", first="parallel(1)", second="parallel(z[0])")
    assert refused(fuse_horizontally, program, n, m) == (
        "fuse_horizontally: cannot make one of the loops 'n' and 'm'\n"
        "  because: z[0] would be evaluated at another time, and 'z' is written in between"
    )
    program, n, m = pair(two="z[0] = 5", first="parallel(z[0])", second="parallel(1)")
    assert "z[0] would be evaluated at another time" in refused(fuse_horizontally, program, n, m)


@pytest.mark.parametrize(("second", "dim"), [("columns, d", ", d"), ("columns, e", ""), ("columns", "")])
def test_a_dimension_of_both_is_that_of_the_loop(second, dim):
    program, n, m = pair(first="parallel(rows, d)", second=f"parallel({second})")
    new = valid(fuse_horizontally, program, n, m).program
    assert f"parallel(rows + columns{dim}):" in body(new)
