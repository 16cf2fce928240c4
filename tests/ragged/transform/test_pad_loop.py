"""pad_loop: a loop that runs up to a multiple, over elements that are not read."""

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.pad_loop import pad_loop
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.support import body, loop, refused

ROWS = """\
program("rows")

total: input()
count: input()
row: input(f < total) = facts(0 <= row(f) < count)
x: payload(float32[total])
z: payload(float32[count])
y: workspace(float32[{stored}])
s: workspace(float32[total])
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
    return {"total": total, "count": count}, {
        "row": rng.integers(0, count, total).astype(np.int32),
        "x": rng.standard_normal(total).astype(np.float32),
        "z": rng.standard_normal(count).astype(np.float32),
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


def test_a_multiple_already():
    program, f = rows(extent="(total + 3) // 4 * 4", statement="y[f] = 1.0")
    assert valid(pad_loop, program, f, 2).program is not None
    assert body(pad_loop(program, f, 4).program) == body(program)


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
