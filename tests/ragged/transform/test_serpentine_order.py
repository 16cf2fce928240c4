"""serpentine_order: a loop forwards and backwards in turns."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.transform.loops.serpentine_order import serpentine_order
from ragged.transform.mapping.parallel import parallel
from tests.ragged.transform.support import accepted, body, check_same, check_same_compiled, loop, refused

ROUNDS = """\
program("rounds")

n: input()
rounds: input()
U: parameter(float32[3])
x: payload(float32[n, 3])
y: output(float32[rounds, n, 3])
s: output(float32[rounds])

with kernel:
    for r in {outer}(rounds):
        s[r]: s.init = 0.0
        for i in {inner}(3):
            for k in serial(n):
                y[r, k, i] = U[i] * x[k, i]
        for j in serial(3):
            s[r] += U[j]
"""


def program(outer="serial", inner="serial"):
    return parse(ROUNDS.format(outer=outer, inner=inner))


def data(n, rounds):
    random = np.random.default_rng(n)
    arrays = {"U": random.standard_normal(3), "x": random.standard_normal((n, 3))}
    return {"n": n, "rounds": rounds}, {name: array.astype(np.float32) for name, array in arrays.items()}


DATA = [data(n, rounds) for n in (0, 1, 4) for rounds in (0, 1, 2, 3)]


def test_text(golden):
    old = program()
    result = accepted(serpentine_order, old, loop(old, "i"), loop(old, "r"))
    assert [var.name for var in result.forwarding.loops[loop(old, "i")]] == ["i_a"]
    golden("serpentine_order.txt", f"{body(old)}\nalternate(i, r)\n\n{body(result.program)}")


@pytest.mark.parametrize("inner", ["serial", "parallel"])
def test_the_same_bits(inner):
    old = program(inner=inner)
    new = accepted(serpentine_order, old, loop(old, "i"), loop(old, "r")).program
    check_same(old, new, DATA)
    check_same_compiled(old, new, DATA, "y")


def test_every_second_iteration_runs_backwards():
    """What is written last is what stays: in turns the last and the first element."""
    text = ROUNDS.format(outer="serial", inner="serial").replace("y[r, k, i] = ", "y[r, k, 0] = ")
    text = text.replace(
        "for i in serial(3)", "for i in parallel(3)"
    )  # which is not so: it is taken at its word
    old = parse(text)
    new = accepted(serpentine_order, old, loop(old, "i"), loop(old, "r")).program
    assert "i = i_a if r % 2 == 0 else 3 - 1 - i_a" in body(new)
    serial = parse(str(new).replace("for i_a in parallel(3)", "for i_a in serial(3)"))
    sizes, arrays = data(2, 3)
    got = interpret(serial, sizes, arrays)["y"][:, :, 0]
    last, first = arrays["U"][2] * arrays["x"][:, 2], arrays["U"][0] * arrays["x"][:, 0]
    np.testing.assert_array_equal(got, [last, first, last])


def test_refusals():
    old = program()
    i, j, k, r = (loop(old, name) for name in "ijkr")
    what = "serpentine_order: cannot turn loop '{}' around in every second iteration of '{}'\n"
    assert refused(serpentine_order, old, j, r) == (
        what.format("j", "r") + "  because: 's' reduces over 'j', and the order of a sum is the model's"
    )
    rows = parse(ROUNDS.format(outer="serial", inner="serial").replace("y[r, k, i] =", "y[r, k, 0] ="))
    assert refused(serpentine_order, rows, loop(rows, "i"), loop(rows, "r")).startswith(
        what.format("i", "r") + "  because: 'y' may in both iterations touch one element of 'y'\n  example: "
    )
    text = ROUNDS.format(outer="serial", inner="serial")
    inside = "        for i3 in serial(3):\n            z[r, i3]: z.init = 0.0\n"
    inside += "        for j in serial(3):\n            for i2 in serial(3):\n"
    inside += "                z[r, i2] += U[j] * U[i2]\n"
    over = parse(text.replace("s: output", "z: output(float32[rounds, 3])\ns: output") + inside)
    j2 = loop(over, "j", 1)
    assert "reduces over 'j'" in refused(serpentine_order, over, loop(over, "i2"), j2)
    empty = parse(
        ROUNDS.format(outer="serial", inner="serial").replace("for j in serial(3)", "for j in serial(0)")
    )
    assert "reduces over 'j'" in refused(serpentine_order, empty, loop(empty, "j"), loop(empty, "r"))
    assert (
        refused(serpentine_order, old, i, k) == what.format("i", "k") + "  because: 'k' is no loop around it"
    )
    at_once = accepted(parallel, old, r).program
    assert refused(serpentine_order, at_once, i, r) == (
        what.format("i", "r") + "  because: loop 'r' is parallel, not serial"
    )
    unrolled = program(inner="unrolled")
    assert refused(serpentine_order, unrolled, loop(unrolled, "i"), loop(unrolled, "r")) == (
        what.format("i", "r") + "  because: loop 'i' is unrolled, not serial or parallel"
    )
