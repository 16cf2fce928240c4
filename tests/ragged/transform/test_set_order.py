"""set_order: dimensions stored in another order."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.analysis.buffers import all_buffers
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.transform.storage.set_order import set_order
from tests.ragged.transform.support import accepted, check_same, check_same_compiled, refused

MATRICES = """\
program("matrices")

n: input()
W: parameter(float32[2, 3])
x: payload(float32[n, 3, 4])
t: workspace(float32[n, 2, 4])
y: output(float32[n, 4, 2])

with kernel:
    for b in serial(n):
        for i in serial(2):
            for j in serial(4):
                t[b, i, j]: t.init = 0.0
                for k in serial(3):
                    t[b, i, j] += W[i, k] * x[b, k, j]
        for j in serial(4):
            held = local(float32[2, 2])
            for i in serial(2):
                held[i, 0] = t[b, i, j]
                held[i, 1] = tanh(t[b, i, j])
            for i in serial(2):
                y[b, j, i] = held[i, 0] + held[i, 1]
"""


def data(n):
    random = np.random.default_rng(n)
    arrays = {"W": random.standard_normal((2, 3)), "x": random.standard_normal((n, 3, 4))}
    return {"n": n}, {name: array.astype(np.float32) for name, array in arrays.items()}


DATA = [data(n) for n in (0, 1, 3)]


def buffer(program, name):
    return next(each for each in all_buffers(program) if each.name == name)


def test_text():
    old = parse(MATRICES)
    new = accepted(set_order, old, buffer(old, "t"), (0, 2, 1)).program
    assert "t: workspace(float32[n, 2, 4], order=(0, 2, 1))\n" in str(new)
    assert str(parse(str(new))) == str(new)
    assert str(accepted(set_order, new, buffer(new, "t"), (0, 1, 2)).program) == str(old)


@pytest.mark.parametrize(
    ("name", "order"),
    [("t", (0, 2, 1)), ("t", (2, 0, 1)), ("y", (0, 2, 1)), ("y", (1, 2, 0)), ("held", (1, 0))],
)
def test_the_same_bits(name, order):
    old = parse(MATRICES)
    new = accepted(set_order, old, buffer(old, name), order).program
    assert buffer(new, name).order == order
    check_same(old, new, DATA)
    if name != "y":  # its storage is read here as it is: tests/compiler/test_matrices.py
        check_same_compiled(old, new, DATA, "y")


def test_an_output_is_handed_over_in_the_order_of_its_dimensions():
    old = parse(MATRICES)
    new = accepted(set_order, old, buffer(old, "y"), (0, 2, 1)).program
    sizes, arrays = data(3)
    got = interpret(new, sizes, arrays)["y"]
    assert got.shape == (3, 4, 2)
    np.testing.assert_array_equal(got, interpret(old, sizes, arrays)["y"])


def test_refusals():
    old = parse(MATRICES)
    assert refused(set_order, old, buffer(old, "x"), (0, 2, 1)) == (
        "set_order: 'x' is no result and no temporary\n"
        "  because: its role is 'payload': its producer determines the layout\n"
        "  fix: pack it, if it is a parameter"
    )
    assert refused(set_order, old, buffer(old, "t"), (0, 2)) == (
        "set_order: (0, 2) is no order of the dimensions of 't'\n"
        "  because: it has 3 of them\n"
        "  example: (0, 1, 2) is the one that it is stored in"
    )
    other = parse(MATRICES)
    assert "set_order: the program has no buffer 't'" in refused(
        set_order, other, buffer(old, "t"), (0, 2, 1)
    )
