"""Loops over the children of a node as one: which of them, what is left apart, and that no bit changes."""

import numpy as np
import pytest

from ragged.auto.fuse_child_loops import fuse_child_loops
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.passes.contract_storage import contract_storage
from ragged.schedule.loop_schedule import LoopSchedule

GATED = """\
program("gated")

nodes: input()
edges: input()
begin: input(n < nodes + 1) = facts(0 <= begin(n) < edges + 1)
child: input(e < edges) = facts(0 <= child(e) < nodes)
x: payload(float32[nodes, 4])
columns: payload(float32[4, edges])
gate: workspace(float32[edges, 4])
most: workspace(float32[nodes, 4])
kept: workspace(float32[nodes, 4])
y: output(float32[nodes, 4])

with kernel:
    for n in parallel(nodes, N):
        for k in serial({first}, K):
            for i in serial(4):
                gate[begin(n) + k, i] = {gate}
{between}
        for i in serial(4):
            kept[n, i] = 0.0
            for k in serial({second}, K):
                kid = child(begin(n) + k)
                kept[n, i] += {term}
        for i in serial(4):
            y[n, i] = tanh(kept[n, i])
"""
CHILDREN = "begin(n + 1) - begin(n)"
GATE = "tanh(x[child(begin(n) + k), i])"
TERM = "gate[begin(n) + k, i] * x[kid, i]"
LARGEST = """\
        for i in serial(4):
            most[n, i] = 0.0
            for k in serial(begin(n + 1) - begin(n), K):
                most[n, i] = reduce(max, gate[begin(n) + k, i], over=(k,))"""
JOINED = """\
    for n in parallel(nodes, N):
        for i in serial(4):
            kept[n, i] = 0.0
        for k in serial(begin(n + 1) - begin(n), K):
            for i in serial(4):
                gate[begin(n) + k, i] = tanh(x[child(begin(n) + k), i])
            kid = child(begin(n) + k)
            for i_rest in serial(4):
                kept[n, i_rest] += gate[begin(n) + k, i_rest] * x[kid, i_rest]
"""


def joined(*, first=CHILDREN, second=CHILDREN, between="", term=TERM, gate=GATE):
    """Return a program as it is, and with its loops joined."""
    program = parse(GATED.format(first=first, second=second, between=between, term=term, gate=gate))
    schedule = LoopSchedule(program)
    fuse_child_loops(schedule)
    verify(schedule.program)
    return program, schedule.program


def answers(program):
    begin = np.array([0, 0, 3, 4, 4, 6], np.int32)
    child = np.array([0, 4, 1, 2, 3, 0], np.int32)
    x = np.random.default_rng(0).standard_normal((5, 4), np.float32)
    return interpret(program, {"nodes": 5, "edges": 6}, {"begin": begin, "child": child, "x": x})["y"]


def test_a_gate_needs_room_for_one_child():
    program, changed = joined()
    assert JOINED in to_text(changed)
    assert "gate = local(float32[4])" in to_text(contract_storage(changed).program)
    assert (answers(changed) == answers(program)).all()


@pytest.mark.parametrize(
    "part",
    [
        {"second": f"({CHILDREN}) // 2"},
        {"term": "gate[begin(n + 1) - 1 - k, i] * x[kid, i]"},
        {"term": "x[kid, i]"},
        {"gate": "columns[i, begin(n) + k]"},
    ],
    ids=[
        "not as many",
        "the gate of another child",
        "nothing that the first loop made",
        "gates that are read along the loop, and stored across it",
    ],
)
def test_what_is_left_as_it_is(part):
    program, changed = joined(**part)
    assert to_text(changed) == to_text(program)


def test_a_gate_that_is_used_when_all_are_there():
    program, changed = joined(between=LARGEST, term=f"{TERM} - most[n, i]")
    assert to_text(program).count("for k in") == 3 and to_text(changed).count("for k in") == 2
    assert "gate: workspace(float32[edges, 4])" in to_text(contract_storage(changed).program)
    assert (answers(changed) == answers(program)).all()
