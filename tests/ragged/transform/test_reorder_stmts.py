"""reorder_stmts: a statement among those of its block, in another place."""

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.code.reorder_stmts import reorder_stmts
from tests.ragged.transform.programs import TREE
from tests.ragged.transform.support import (
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    label,
    loop,
    refused,
)

PROGRAM = """\
program("three")

count: input()
x: payload(float32[count, 8])
y: payload(float32[count, 8])
t: workspace(float32[count, 8])
u: output(float32[count, 8])
v: output(float32[count, 8])
total: output(float32[1])

with kernel:
    total[0]: first = 0.5
    for n in serial(count):
        for a in serial(8):
            t[n, a] = x[n, a] + y[n, a]
        for b in serial(8):
            u[n, b] = tanh(t[n, b])
        for c in serial(8):
            v[n, c] = x[n, c] * y[n, c]
        total[0]: last = total[0] + t[n, 0]
"""


def data(count):
    rows = np.random.default_rng(count).standard_normal((2, count, 8)).astype(np.float32)
    return {"count": count}, {"x": rows[0], "y": rows[1]}


DATA = [data(count) for count in (0, 1, 4)]


def names(program, text):
    """Return what `a->b` names: a loop if there is one of the name, else a label."""
    found = []
    for name in text.split("->"):
        found.append(loop(program, name) if name in "abcn" else label(program, name))
    return found


def test_text(golden):
    program = parse(PROGRAM)
    result = accepted(reorder_stmts, program, loop(program, "c"), loop(program, "a"))
    golden("reorder_stmts.txt", body(program) + "\nmove(c, a)\n\n" + body(result.program))
    assert result.forwarding.loops[loop(program, "c")] == (loop(program, "c"),)


@pytest.mark.parametrize("way", ["c->a", "b->c", "last->a", "c->last", "last->b"])
def test_what_touches_nothing_in_common_changes_places(way):
    program = parse(PROGRAM)
    new = accepted(reorder_stmts, program, *names(program, way)).program
    check_same(program, new, DATA)
    check_same_compiled(program, new, DATA, "total")


def test_next_to_each_other_nothing_changes():
    program = parse(PROGRAM)
    assert str(accepted(reorder_stmts, program, *names(program, "b->a")).program) == str(program)


def test_what_is_passed_must_not_be_touched():
    program = parse(PROGRAM.replace("v[n, c] = x[n, c] * y[n, c]", "t[n, c] += y[n, c]"))
    assert refused(reorder_stmts, program, *names(program, "c->a")) == (
        "reorder_stmts: cannot put 'c' after 'a'\n  because: 't' and 'u' may touch one element of 't'\n"
        "  example: n = 0, count = 1"
    )
    assert "'t' and 'u' may touch one element of 't'" in refused(
        reorder_stmts, program, *names(program, "a->last")
    )
    program = parse(PROGRAM.replace("x[n, c] * y[n, c]", "u[n, c]"))
    assert "may touch one element of 'u'" in refused(reorder_stmts, program, *names(program, "c->a"))
    assert "'first' and 'last' may touch one element of 'total'" in refused(
        reorder_stmts, program, *names(program, "first->n")
    )


@pytest.mark.parametrize("way", ["a->first", "a->n", "n->a", "a->a"])
def test_it_is_for_two_statements_of_one_block(way):
    program = parse(PROGRAM)
    one, other = way.split("->")
    assert refused(reorder_stmts, program, *names(program, way)) == (
        f"reorder_stmts: cannot put '{one}' after '{other}'\n  because: they do not stand side by side in one block"
    )


def test_a_check_stays_where_it_is():
    program = parse(PROGRAM.replace("        for b", '        check(count > 0, "none")\n        for b'))
    assert "may not change places with anything" in refused(reorder_stmts, program, *names(program, "c->a"))


def test_nodes_of_a_batch_change_places_where_children_are_not_in_it():
    program = parse(TREE)
    first, last = loop(program, "i", 1), loop(program, "i", 3)
    assert "may touch one element" in refused(reorder_stmts, program, first, last)
    new = accepted(reorder_stmts, program, loop(program, "i", 2), first).program
    check_same(program, new, TREE_DATA)
