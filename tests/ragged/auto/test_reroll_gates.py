"""Products of a loop that are one nest: which of them, wherever they stand, and with what answers."""

import numpy as np
import pytest

from ragged.auto.reroll_gates import reroll_gates
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.verify import verify
from ragged.schedule.loop_schedule import LoopSchedule
from tests.ragged.transform.support import loop

PROGRAM = """\
program("products")

count: input()
V: parameter(float32[3, 2, 4, 4])
W: parameter(float32[2, 4, 4])
U: parameter(float32[2, 4, 4])
x: payload(float32[count, 4])
z: payload(float32[count, 4])
{temporaries}
y: output(float32[count, 4])

with kernel:
    for n in parallel(count, N):
{products}
        for i in serial(4):
            y[n, i] = {total}
"""
PRODUCT = """\
        for i in serial(4):
            {name}[n, i]: {name}.init = 0.0
            for j in serial(4):
                {name}[n, i] += {weight}, i, j] * {rows}[n, j]
"""


def of(*products):
    """Return a program of products, each the start of its matrix's indices and the rows it is multiplied with."""
    names = [f"t{k}" for k in range(len(products))]
    text = PROGRAM.format(
        temporaries="\n".join(f"{name}: workspace(float32[count, 4])" for name in names),
        products="".join(
            PRODUCT.format(name=name, weight=weight, rows=rows)
            for name, (weight, rows) in zip(names, products, strict=True)
        ),
        total=" + ".join(f"{name}[n, i]" for name in names),
    )
    return parse(text)


def data():
    random = np.random.default_rng(3)
    shapes = {"V": (3, 2, 4, 4), "W": (2, 4, 4), "U": (2, 4, 4), "x": (5, 4), "z": (5, 4)}
    return {"count": 5}, {
        name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }


def rolled(program):
    schedule = LoopSchedule(program)
    reroll_gates(schedule, loop(program, "n"))
    verify(schedule.program)
    sizes, arrays = data()
    before, after = (interpret(each, sizes, arrays)["y"] for each in (program, schedule.program))
    np.testing.assert_array_equal(before, after)
    return [line for line in schedule.log().splitlines() if line.startswith("s.apply(")]


def steps(lines):
    return [line.removeprefix("s.apply(").partition(",")[0] for line in lines]


@pytest.mark.parametrize(
    ("products", "wanted"),
    [
        # gates of one operand, side by side
        ((("W[0", "x"), ("U[0", "x")), ["concat_buffers", "concat_buffers", "reroll"]),
        # a matrix for each child, the children's products in turns
        (
            (("W[0", "x"), ("W[1", "z"), ("U[0", "x"), ("U[1", "z")),
            ["reorder_stmts", "concat_buffers", "concat_buffers", "reroll", "concat_buffers", "reroll"],
        ),
        # parts of one parameter
        ((("V[0, 1", "x"), ("V[1, 1", "x"), ("V[2, 1", "x")), ["concat_buffers", "reroll"]),
        ((("V[0, 1", "x"), ("V[1, 0", "z"), ("V[2, 1", "x")), ["reorder_stmts", "concat_buffers", "reroll"]),
        # numbers that no one step leads through: as many as one does
        ((("V[0, 1", "x"), ("V[1, 1", "x"), ("V[0, 0", "x")), ["concat_buffers", "reroll"]),
        # nothing in common: other rows, other shapes
        ((("W[0", "x"), ("U[0", "z")), []),
        ((("W[0", "x"), ("V[0, 0", "x")), []),
    ],
)
def test_products_of_the_same_rows_are_one_nest(products, wanted):
    assert steps(rolled(of(*products))) == wanted
