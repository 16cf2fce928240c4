"""rebase_storage: room for the rows of one iteration."""

from __future__ import annotations

import numpy as np

from ragged.ir.expr import Binary, Call, Const, Ref
from ragged.ir.interpret import interpret
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from ragged.transform.storage.rebase_storage import rebase_storage
from tests.ragged.transform.support import accepted, body, check_same_compiled, loop, refused

BATCHES = """\
program("batches")

total: input()
batches: input() = facts(1 <= batches < total + 2)
widest: input()
begin: input(b < batches) = facts(tiling(length, 0, total))
length: input(b < batches) = facts(0 <= length(b) < (total + 1 if b == 0 else widest + 1))
x: payload(float32[total, 3])
t: workspace(float32[total, 3])
y: output(float32[total, 3])

with kernel:
    for step in serial(batches - 1):
        b = step + 1
        for n in parallel(length(b)):
            node = begin(b) + n
            for i in serial(3):
                t[node, i] = tanh(x[node, i])
        for m in parallel(length(b)):
            node = begin(b) + m
            for i in serial(3):
                y[node, i] = t[begin(b) + length(b) - 1 - m, i] + t[node, 0]
"""


def program(text=BATCHES):
    return parse(
        text.replace("tiling(length, 0, total)", "tiling(length, first, total)").replace(
            "widest: input()", "widest: input()\nfirst: input()"
        )
    )


def data(*lengths):
    total = sum(lengths)
    begins = total - np.cumsum(lengths)
    arrays = {
        "begin": begins.astype(np.int32),
        "length": np.array(lengths, np.int32),
        "x": np.random.default_rng(total).standard_normal((total, 3)).astype(np.float32),
    }
    sizes = {
        "total": total,
        "batches": len(lengths),
        "first": int(begins[0]),
        "widest": max(lengths[1:], default=0),
    }
    return sizes, arrays


DATA = [data(3), data(4, 2), data(5, 1, 3, 2)]


def buffer(old, name="t"):
    return next(each for each in old.buffers if each.name == name)


def function(old, name):
    return next(each for each in old.functions if each.name == name)


def rows(old, begin="begin", length="length", extent="widest"):
    """Return the arguments behind the buffer: dimension, loop, where rows begin, how many there are, and at most."""
    step = loop(old, "step")
    batch = Binary(BinaryOp.ADD, Ref(step), Const(1))
    first, count = (Call(function(old, name), (batch,)) for name in (begin, length))
    return 0, step, first, count, Call(function(old, extent))


def test_text(golden):
    old = program()
    new = accepted(rebase_storage, old, buffer(old), *rows(old)).program
    assert "t: workspace(float32[widest, 3])\n" in str(new)
    golden("rebase_storage.txt", f"{body(old)}\nrebase_storage(t, 0, step, ...)\n\n{body(new)}")


def test_results():
    old = program()
    new = accepted(rebase_storage, old, buffer(old), *rows(old)).program
    inner = [(sizes, arrays) for sizes, arrays in DATA]
    for sizes, arrays in inner:
        results = [interpret(each, sizes, arrays)["y"] for each in (old, new)]
        inside = slice(0, sizes["first"])  # the first batch is left alone
        np.testing.assert_array_equal(results[0][inside], results[1][inside])
    check_same_compiled(old, new, [each for each in DATA if each[0]["batches"] > 1], "y")


def test_a_team_meets_before_room_is_used_again():
    old = program()
    new = accepted(rebase_storage, old, buffer(old), *rows(old)).program
    before, after = (str(distribute_over_team(each).program).count("barrier(team)") for each in (old, new))
    assert after == before + 1


def test_what_a_let_says_is_said_so():
    """The variable that tells rows apart is found: a row of a fused loop is still called `n`."""
    fused = BATCHES.replace(
        "for n in parallel(length(b)):", "for f in parallel(length(b) * 2):\n            n = f // 2"
    )
    old = program(fused.replace("t[node, i] = tanh(x[node, i])", "t[node, i]: t.half = tanh(x[node, i])"))
    new = accepted(rebase_storage, old, buffer(old), *rows(old)).program
    assert "t[n, i]: t.half = tanh(x[node, i])" in str(new)


def test_copies_of_workers():
    own = program()
    shared = distribute_over_team(own, replicated=(loop(own, "n"),)).program
    assert "t: workspace(float32[workers, total, 3])" in str(shared)
    new = accepted(rebase_storage, shared, buffer(shared), 1, *rows(shared)[1:]).program
    assert "t: workspace(float32[workers, widest, 3])" in str(new)
    for sizes, arrays in DATA:
        for workers in (1, 2):
            asked = {**sizes, "workers": workers}
            results = [interpret(each, asked, arrays)["y"] for each in (shared, new)]
            inside = slice(0, sizes["first"])
            np.testing.assert_array_equal(results[0][inside], results[1][inside])


WHAT = "rebase_storage: cannot give '{}' room for one iteration of loop '{}'\n"


def test_refusals():
    old = program()
    assert refused(rebase_storage, old, buffer(old, "y"), *rows(old)) == (
        WHAT.format("y", "step") + "  because: it has the role 'output' and 2 dimensions\n"
        "  fix: name a workspace, and one of its dimensions from 0"
    )
    few = rows(old)
    assert refused(rebase_storage, old, buffer(old), *few[:3], few[3], Const(2)).startswith(
        WHAT.format("t", "step") + "  because: length(step + 1) is not proven to be 2 at most\n  example: "
    )
    assert refused(rebase_storage, old, buffer(old), *few[:2], Const(0), few[3], few[4]).startswith(
        WHAT.format("t", "step")
        + "  because: the rows from 0 may be those of another iteration too\n  example: "
    )
    less = Binary(BinaryOp.SUB, few[3], Const(1))
    assert refused(rebase_storage, old, buffer(old), *few[:3], less, few[4]).startswith(
        WHAT.format("t", "step")
        + "  because: t[node, i] is not proven to be in the iteration's rows\n  example: "
    )
    assert refused(rebase_storage, old, buffer(old), *few[:4], Ref(few[1])) == (
        WHAT.format("t", "step")
        + "  because: step is not made of sizes alone\n  fix: name a size that is given"
    )
    late = program(BATCHES + "    for k in serial(total):\n        y[k, 0] = t[k, 0]\n")
    assert refused(rebase_storage, late, buffer(late), *rows(late)) == (
        WHAT.format("t", "step") + "  because: t[k, 0] is read outside of the loop\n"
        "  fix: name a loop around all that uses it"
    )
    at_once = program(BATCHES.replace("for step in serial", "for step in parallel"))
    assert refused(rebase_storage, at_once, buffer(at_once), *rows(at_once)) == (
        WHAT.format("t", "step")
        + "  because: loop 'step' is parallel, and its iterations would share the room\n"
        "  fix: name a serial loop in none that is not, before the kernel is shared out"
    )
    shared = distribute_over_team(program()).program
    assert refused(rebase_storage, shared, buffer(shared), *rows(shared)).startswith(
        WHAT.format("t", "step") + "  because: loop 'w' is team, and its iterations would share the room"
    )
    own = program()
    copies = distribute_over_team(own, replicated=(loop(own, "n"),)).program
    other = parse(str(copies).replace("t[w, node, 0]", "t[0, node, 0]"))
    assert str(other) != str(copies)
    assert refused(rebase_storage, other, buffer(other), 1, *rows(other)[1:]).startswith(
        WHAT.format("t", "step") + "  because: loop 'w' is team, and its iterations would share the room"
    )


def test_an_index_from_another_place_than_the_first_row():
    text = """\
program("rows")

rows: input()
t: workspace(float32[rows * 4])
y: output(float32[rows, 3])

with kernel:
    for b in serial(rows):
        for n in serial(4):
            node = b * 4 + n
            t[node]: one = float32(n)
        for m in serial(3):
            next = b * 4 + 1 + m
            y[b, m] = t[next]
"""
    old = parse(text)
    b = loop(old, "b")
    begin, four = Binary(BinaryOp.MUL, Ref(b), Const(4)), Const(4)
    new = accepted(rebase_storage, old, buffer(old), 0, b, begin, four, four).program
    for each in (old, new):
        np.testing.assert_array_equal(interpret(each, {"rows": 2}, {})["y"], [[1, 2, 3]] * 2)
