"""pad_loop: a loop that runs up to a multiple, over elements that are not read."""

import numpy as np
import pytest

from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.parser import parse
from ragged.transform.loops.pad_loop import pad_loop
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.support import body, loop, refused

ROWS = """\
program("rows")

total: input()
count: input()
few: input() = facts(1 <= few < 5)
row: input(f < total) = facts(0 <= row(f) < count)
x: payload(float32[total])
z: payload(float32[count])
y: workspace(float32[{stored}])
w: payload(int32[total])
p: parameter(float32[6])
s: workspace(float32[{stored}])
m: workspace(int64[9])
out: output(float32[total])

with kernel:
    for g in serial(total):
        s[g] = x[g] + 1.0
    for f in {kind}({extent}):
        {statement}
    for e in serial(total):
        out[e] = {result}
"""
STORED = "(total + 3) // 4 * 4"
WHAT = "pad_loop: cannot pad loop 'f' to a multiple of 4"


def rows(statement="y[f] = x[f]", *, stored=STORED, kind="parallel", extent="total", result="y[e]"):
    program = parse(ROWS.format(statement=statement, stored=stored, kind=kind, extent=extent, result=result))
    return program, loop(program, "f")


def data(total, count=2):
    rng = np.random.default_rng(total)
    return {"total": total, "count": count, "few": 3}, {
        "row": rng.integers(0, count, total).astype(np.int32),
        "x": rng.standard_normal(total).astype(np.float32),
        "z": rng.standard_normal(count).astype(np.float32),
        "w": rng.integers(-9, 9, total).astype(np.int32),
        "p": np.zeros(6, np.float32),
    }


DATA = [data(total) for total in (0, 1, 3, 4, 5, 8)]


@pytest.mark.parametrize(
    ("statement", "padded"),
    [
        ("y[f] = x[f]", "y[f] = x[f] if f < total else 0.0"),
        ("y[f] = s[f]", "y[f] = s[f] if f < total else 0.0"),
        ("y[f] = z[row(f)]", "y[f] = z[row(min(f, total - 1))]"),
        ("y[f] = z[0] if f < total else 1.0", "y[f] = z[0] if f < total else 1.0"),
        ("y[f] = x[f] if f < total else 1.0", "y[f] = x[f] if f < total else 1.0"),
        ("y[f] = float32(w[f])", "y[f] = float32(w[f] if f < total else const(0, int32))"),
        ("y[f] = x[total - 1 - f]", "y[f] = x[total - 1 - f] if 0 <= total - 1 - f else 0.0"),
        (
            "t = local(float32[3])\n        t[0] = x[f]\n        y[f] = t[0]",
            "t = local(float32[3])\n        t[0] = x[f] if f < total else 0.0\n        y[f] = t[0]",
        ),
        ("y[f] = x[0]\n        y[f]: y.more = y[f] + 1.0", "y[f] = x[0]\n        y[f]: y.more = y[f] + 1.0"),
    ],
)
def test_what_is_beyond_the_end(statement, padded):
    program, f = rows(statement)
    result = valid(pad_loop, program, f, 4)
    assert f"    for f in parallel((total + 3) // 4 * 4):\n        {padded}\n" in body(result.program)
    assert result.forwarding.loops[f] == (f,)
    same(program, result.program, DATA)


def test_a_loop_of_rows(golden):
    program, f = rows(
        "b = row(f)\n        y[f]: y.init = 0.0\n        for k in serial(3):\n            y[f] += x[f] * z[b]"
    )
    result = valid(pad_loop, program, f, 4)
    same_compiled(program, result.program, DATA)
    golden("pad_loop.txt", body(program) + "\npad_loop(f, 4)\n\n" + body(result.program))
    same(program, result.program, DATA)


def test_what_loops_inside_do_not_decide_stays_as_it_is_in_them():
    """A vector's mask is made once for a window, not at each place in it."""
    sums = "y[f]: y.init = 0.0\n        for k in serial(3):\n            y[f] += {read}"
    program, f = rows(sums.format(read="x[f + k]"), extent="total - 2", result="y[0] if total > 2 else x[e]")
    result = valid(pad_loop, program, f, 4)
    assert "y[f] += x[f + k] if f < total - 2 else 0.0" in body(result.program)
    same(program, result.program, DATA[2:])


def test_a_multiple_already():
    program, f = rows(extent="(total + 3) // 4 * 4", statement="y[f] = 1.0")
    for multiple in (1, 2, 4):
        assert body(valid(pad_loop, program, f, multiple).program) == body(program)


@pytest.mark.parametrize(
    ("extent", "padded"),
    [
        ("few", "4"),
        ("3", "4"),
        ("min(total, 4)", "(min(total, 4) + 3) // 4 * 4"),
        ("few + 1", "(few + 1 + 3) // 4 * 4"),
    ],
)
def test_an_extent_from_one_up_to_the_multiple_becomes_the_multiple(extent, padded):
    program, f = rows("y[f] = 1.0", extent=extent, stored="8")
    result = valid(pad_loop, program, f, 4).program
    assert f"for f in parallel({padded}):" in body(result)


def test_facts_that_are_relied_on_are_checked():
    sizes, arrays = data(5)
    program, f = rows("y[f] = 1.0", extent="few", stored="8")
    result = valid(pad_loop, program, f, 4).program
    with pytest.raises(CheckFailed, match="few = 5 is not in"):
        interpret(result, sizes | {"few": 5}, arrays)
    program, f = rows("y[f] = z[row(f)]")
    result = valid(pad_loop, program, f, 4).program
    with pytest.raises(CheckFailed, match=r"row\(4\) = 2 is not in"):
        interpret(result, sizes, arrays | {"row": np.array([0, 0, 1, 0, 2], np.int32)})


@pytest.mark.parametrize(
    ("changes", "multiple", "message"),
    [
        ({}, 0, "pad_loop: cannot pad loop 'f' to a multiple of 0\n  fix: a multiple from 1 up"),
        (
            {"kind": "vectorized", "extent": "3"},
            4,
            f"{WHAT}, as it is vectorized\n  because: its iterations are lanes or workers\n  fix: pad first",
        ),
        (
            {
                "statement": "y[0]: y.init = 0.0\n    for f in serial(total):\n        y[0] += x[f]",
                "kind": "serial",
            },
            4,
            None,
        ),
        (
            {"statement": 'check(f < total, "never")\n        y[f] = 1.0'},
            4,
            f"{WHAT}\n  because: the check 'check' stands in it, which would fail beyond its end\n"
            "  fix: discharge_checks, if facts prove it",
        ),
        (
            {"statement": "y[f // 2] = 1.0", "kind": "serial"},
            4,
            f"{WHAT}\n  because: beyond its end 'y' may be written where 'y' writes it",
        ),
        (
            {"statement": "y[f] = z[row(row(f))]"},
            4,
            None,
        ),
    ],
)
def test_refusals(changes, multiple, message):
    program, f = rows(**changes)
    if "y[0] += x[f]" in changes.get("statement", ""):
        f = loop(program, "f", 1)
        message = (
            f"{WHAT}\n  because: 'y' reduces over it: more of it would be another value\n"
            "  fix: split it with a peeled tail"
        )
    found = refused(pad_loop, program, f, multiple)
    if message is None:
        assert found.startswith(f"{WHAT}\n  because: row(row(") and "is not proven to have a value" in found
    else:
        assert found == message


def test_storage_that_ends_with_the_loop():
    program, f = rows(stored="total")
    assert refused(pad_loop, program, f, 4) == (
        f"{WHAT}: 'y' is too short\n  because: 'y' is written at f, and holds total\n"
        "  example: f = 1, total = 1\n  fix: store 'y' up to such a multiple"
    )


def test_parameters_end_too():
    program, f = rows("y[f] = p[f + 1]", extent="5", stored="8", result="1.0")
    result = valid(pad_loop, program, f, 4).program
    assert "for f in parallel(8):\n        y[f] = p[f + 1] if f + 1 < 6 else 0.0\n" in body(result)
    same(program, result, DATA)


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        (
            {"statement": "k = f + 0\n        y[k] = 1.0", "stored": "total"},
            "'y' is written at k, and holds total",
        ),
        (
            {
                "statement": "for k in serial(f + 1):\n            y[k] = 1.0",
                "stored": "total",
                "kind": "serial",
            },
            "'y' is written at k, and holds total",
        ),
        (
            {"statement": "y[total - f] = 1.0", "stored": "total + 1"},
            "'y' is written at total - f, and holds total + 1",
        ),
        (
            {"statement": "t = local(float32[3, f + 1])\n        t[0, 0] = x[f]\n        y[f] = t[0, 0]"},
            "'t' is as large as an iteration needs it",
        ),
        (
            {"statement": "m[f] = 1", "extent": "m[0]", "kind": "serial"},
            "m[0] would be evaluated at another time, and 'm' is written in between",
        ),
        (
            {"statement": "y[0] = 1.0", "kind": "serial"},
            "beyond its end 'y' may be written where 'y' writes it",
        ),
    ],
)
def test_what_the_new_iterations_may_not_do(changes, because):
    program, f = rows(**changes)
    assert f"  because: {because}" in refused(pad_loop, program, f, 4)


@pytest.mark.parametrize(
    "statement",
    [
        "if f < total:\n            y[f // 2 * 2] = 1.0",
        "y[f] = 1.0\n        if f + 1 < total:\n            y[f + 1]: y.next = 2.0",
        "y[f] = 1.0\n        s[f]: s.again = 2.0",
    ],
    ids=["nothing beyond the end", "nothing of the other beyond the end", "another statement before it"],
)
def test_writes_that_conditions_keep_apart(statement):
    program, f = rows(statement, kind="serial", result="1.0")
    same(program, valid(pad_loop, program, f, 4).program, DATA)


AROUND = """\
program("around")

count: input()
n: input(b < count) = facts(0 <= n(b) < 9)
x: payload(float32[count, 8])
y: workspace(float32[8])
v: workspace(float32[8], aliases=y)
out: output(float32[count, 8])

with kernel:
    for b in serial(count):
        u = local(float32[8])
        t = local(float32[8])
        for i in serial(8):
            {filled}[i] = 0.5
        for f in serial(n(b)):
            {target}[f] = x[b, f]
        for e in serial(n(b)):
            out[b, e] = {target}[e]
    for e in serial({again}):
        out[0, e]: out.again = y[e]
"""


def around(target, again="0", filled="u"):
    program = parse(AROUND.format(target=target, again=again, filled=filled))
    return program, loop(program, "f")


def test_storage_of_an_iteration_around_it():
    program, f = around("t")
    result = valid(pad_loop, program, f, 4).program
    assert "for f in serial((n(b) + 3) // 4 * 4):\n            t[f] = x[b, f]\n" in body(result)
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    same(program, result, [({"count": 2}, {"n": np.array([3, 5], np.int32), "x": x})])


def test_what_an_iteration_around_it_has_written_is_kept():
    """Row 1 beyond its end would be written over what row 0 holds there."""
    program, f = around("y", again="n(0)")
    assert refused(pad_loop, program, f, 4) == (
        f"{WHAT}\n  because: beyond its end 'y' may be written where 'y' writes it"
    )


def test_what_is_written_by_another_name_is_kept():
    program, f = around("y", filled="v")
    assert refused(pad_loop, program, f, 4) == (
        f"{WHAT}\n  because: beyond its end 'y' may be written where 'v' writes it"
    )


WRITTEN = """\
program("written")

total: input()
x: payload(float32[total + 8])
s: workspace(float32[total + 8])
y: workspace(float32[total + 8])
out: output(float32[total])

with kernel:
    for g in serial(total):
        s[g] = x[g]
    for h in serial({to}):
        s[h]: s.more = 1.0
    s[0]: s.first = 1.0
    for f in serial(total):
        y[f] = s[f]
    for e in serial(total):
        out[e] = y[e]
"""


@pytest.mark.parametrize(
    ("to", "read"),
    [
        ("(total + 3) // 4 * 4", "s[f]"),
        ("(total + 3) // 4 * 4 - 1", "s[f] if f < total else 0.0"),
        ("total // 2", "s[f] if f < total else 0.0"),
    ],
)
def test_what_more_than_one_loop_writes(to, read):
    program = parse(WRITTEN.format(to=to))
    result = valid(pad_loop, program, loop(program, "f"), 4).program
    assert f"        y[f] = {read}\n" in body(result)
    same(program, result, [({"total": n}, {"x": np.arange(n + 8, dtype=np.float32)}) for n in range(1, 6)])


PAIRS = """\
program("pairs")

w: bound(bfloat16x2[2, 5])
x: payload(float32[2, 2])
y: workspace(float32[8])
out: output(float32[5])

with bind:
    for j in serial(2):
        for i in serial(5):
            w[j, i] = pair(1.0, 2.0)
with kernel:
    for f in serial(5):
        y[f]: start = 0.0
        for j in serial(2):
            y[f] += dot(w[j, f], pair(x[j, 0], x[j, 1]))
    for e in serial(5):
        out[e] = y[e]
"""


def test_pairs_that_are_not_there_are_zeros():
    program = parse(PAIRS)
    new = valid(pad_loop, program, loop(program, "f"), 8).program
    assert "w[j, f] if f < 5 else pair(0.0, 0.0)" in body(new)
