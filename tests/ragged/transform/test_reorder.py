"""reorder: loops of a nest in another order."""

from itertools import permutations

import numpy as np
import pytest

from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.transform.loops.reorder import reorder
from tests.ragged.transform.programs import TREE
from tests.ragged.transform.support import (
    MATVEC_DATA,
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    loop,
    refused,
)

# Nests of three loops: with lets and a condition between them, over x[n, i, j] or reduced over j.
NEST = """\
program("nest")

count: input()
begin: input(b < 3) = facts(0 <= begin(b) < 4)
a: parameter(float32[8, 3, 4])
x: output(float32[8, 3, 4])
s: output(float32[8, 3])

with prelude:
    for p in serial(8):
        for q in serial(3):
            s[p, q]: s.init = 0.0
with kernel:
    for b in serial(3):
        for n in serial(count):
            node = begin(b) + n
            if node < 8:
                for i in serial({extent}):
                    row = i
                    for j in {kind}(4):
                        {statement}
"""
STORE = "x[node, row, j] = a[node, i, j] * 2.0"
SUM = "s[node, row] += a[node, i, j]"


def nest(statement, extent="3", kind="serial"):
    return parse(NEST.format(statement=statement, extent=extent, kind=kind))


def nest_data(count):
    arrays = {
        "begin": np.array([3, 1, 0], np.int32),
        "a": np.random.default_rng(count).standard_normal((8, 3, 4)).astype(np.float32),
    }
    return {"count": count}, arrays


def loops(program, names):
    return tuple(loop(program, name) for name in names)


DATA = [nest_data(count) for count in (0, 1, 5)]
ORDERS = ["".join(order) for order in permutations("nij")]


def test_an_extent_stays_inside_of_what_guards_it():
    program = parse(NEST.replace("{kind}(4)", "serial(begin(b) + 1)").format(statement=STORE, extent="3"))
    new = accepted(reorder, program, loops(program, "nji")).program
    assert "if node < 8:\n                for j in serial(begin(b) + 1):\n" in body(new)
    check_same(program, new, DATA)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_of_stores_in_places_of_their_own(order):
    program = nest(STORE)
    new = accepted(reorder, program, loops(program, order)).program
    check_same(program, new, DATA)


@pytest.mark.parametrize("order", ORDERS)
def test_a_reduction_that_keeps_its_order_may_move(order):
    program = nest(SUM)
    check_same(program, accepted(reorder, program, loops(program, order)).program, DATA)


def test_text(golden):
    program = nest(SUM)
    texts = [body(program)]
    for order in ("inj", "jin", "jni"):
        texts.append(f"reorder({', '.join(order)})\n")
        texts.append(body(accepted(reorder, program, loops(program, order)).program))
    golden("reorder.txt", "\n".join(texts))


PRODUCT = """\
program("product")

count: input()
U: parameter(float32[8, 6])
b: parameter(float32[8])
v: workspace(float32[count, 6])
y: output(float32[count, 8])

with kernel:
    for m in serial(count):
        for k in serial(8):
            y[m, k]: y.init = b[k]
    for n in serial(count):
        for i in serial(8):
            for j in serial(6):
                y[n, i] += U[i, j] * v[n, j]
"""


def test_machine_code():
    program = parse(PRODUCT)
    new = accepted(reorder, program, loops(program, "jni")).program
    check_same(program, new, MATVEC_DATA)
    check_same_compiled(program, new, MATVEC_DATA, "y")


def test_loops_keep_their_identity():
    program = nest(STORE)
    result = accepted(reorder, program, loops(program, "jni"))
    assert all(new == (old,) for old, new in result.forwarding.loops.items())


def test_a_parallel_loop_orders_nothing():
    program = parse(TREE)
    inner = loop(program, "n")
    result = accepted(reorder, program, (loop(program, "i"), inner))
    check_same(program, result.program, TREE_DATA)
    assert body(result.program).splitlines()[:3] == [
        "    for i in serial(4):",
        "        for n in parallel(batch_length(0)):",
        "            node = batch_begin(0) + n",
    ]


TWO_AXES = """\
program("total")

a: parameter(float32[5, 7])
s: output(float32[1])

with kernel:
    s[0]: s.init = 0.0
    for i in serial(5):
        for j in serial(7):
            s[0] += a[i, j]{more}
"""


def test_the_order_of_a_reduction_is_changed_by_name_alone():
    program = parse(TWO_AXES.format(more=""))
    order = loops(program, "ji")
    assert refused(reorder, program, order) == (
        "reorder: cannot bring the loops into the order j, i\n"
        "  because: 's' may in both iterations touch one element of 's'\n"
        "  example: i = 0, j = 1, i' = 1, j' = 0\n"
        "  fix: reassociate=True, if the reduction may round in another way"
    )
    new = accepted(reorder, program, order, reassociate=True).program
    a = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    exact = np.sum(a.T.reshape(-1), dtype=np.float64)
    assert abs(interpret(new, {}, {"a": a})["s"][0] - exact) < 1e-5


def test_a_reduction_that_reads_its_accumulator_is_not_reassociated():
    program = parse(TWO_AXES.format(more=" * s[0]"))
    assert refused(reorder, program, loops(program, "ji"), reassociate=True) == (
        "reorder: cannot bring the loops into the order j, i\n"
        "  because: 's' may in both iterations touch one element of 's'\n"
        "  example: i = 0, j = 1, i' = 1, j' = 0"
    )


SHIFT = """\
program("shift")

x: output(float32[9, 9])
y: output(float32[9, 9])

with prelude:
    for i in serial(9):
        for j in serial(9):
            x[i, j] = 1.0
with kernel:
    for i in serial(8):
        for j in serial(8):
            {statement}
"""


def shift(statement):
    program = parse(SHIFT.format(statement=statement))
    return program, (loop(program, "j", 1), loop(program, "i", 1))


def test_what_depends_on_an_iteration_that_is_before_in_both_orders_may_move():
    program, order = shift("x[i + 1, j + 1] = x[i, j] * 2.0")
    check_same(program, accepted(reorder, program, order).program, [({}, {})])


def test_what_depends_on_an_iteration_that_would_come_later_is_refused():
    program, order = shift("x[i + 1, j] = x[i, j + 1] * 2.0")
    assert refused(reorder, program, order) == (
        "reorder: cannot bring the loops into the order j, i\n"
        "  because: 'x' may in both iterations touch one element of 'x'\n"
        "  example: i = 0, j = 1, i' = 1, j' = 0"
    )
