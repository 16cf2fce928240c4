"""What the tests of the paper's listings and figures share: the running example, and two programs side by side."""

from __future__ import annotations

from typing import Any

import cortex
from cortex import ra
from cortex.compiler.pipeline import passes_for
from cortex.linearize import Linearized, linearize
from ragged.ir.program import Program
from ragged.ir.stmt import Barrier
from ragged.ir.verify import verify
from ragged.ir.walk import statements
from ragged.passes.pipeline import run_passes
from tests.support.agreement import check_agreement, interpreted

N, H, V = ra.N, 4, 10
DEEP = (1, ((2, 3), (((4, 5), 6), (1, 2))))
BATCHES: list[list[Any]] = [
    [((1, 2), (3, (4, 5))), 6, ((1, (2, 3)), 4), (DEEP, 1), (DEEP, (DEEP, 2))],
    [7],
    [],
    [((((1, 2), (3, 4)), ((5, 6), (7, 8))), (((1, 2), (3, 4)), ((5, 6), (7, 8))))] * 3,
]


def listing_1() -> tuple[ra.Model, Any]:
    """Return the paper's Listing 1, and its branch."""
    emb, word = ra.input_tensor("emb", (V, H)), ra.node_input("word", dtype="int32")
    rnn_ph = ra.placeholder((N, H))
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i], name="leaf")
    lh = ra.compute((N, H), lambda n, i: rnn_ph[n.left, i], name="lh")
    rh = ra.compute((N, H), lambda n, i: rnn_ph[n.right, i], name="rh")
    rec = ra.compute((N, H), lambda n, i: ra.tanh(lh[n, i] + rh[n, i]), name="rec")
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec), name="body")
    return ra.recursion_op(rnn_ph, body, structure=ra.Tree(max_children=2)), body


def listing_2() -> ra.Schedule:
    """Return the schedule that makes Listing 2 of it: batches, and leaves in a nest of their own."""
    model, body = listing_1()
    schedule = ra.Schedule(model)
    schedule.dynamic_batch()
    schedule.specialize_if_else(body)
    return schedule


def kernel(program: Program) -> str:
    """Return the text of a program's kernel."""
    text = str(program)
    return text[text.index("with kernel:") :].rstrip() + "\n"


def side_by_side(before: str, steps: str, after: str) -> str:
    """Return a golden file's text: a program, the steps, and what they make of it."""
    taken = "".join(f"# {step}\n" for step in steps.splitlines())
    return f"{before}\n{taken}\n{after}"


def barriers(program: Program) -> int:
    """Return how many barriers stand in a kernel."""
    return sum(isinstance(stmt, Barrier) for stmt in statements(program.kernel))


def check_same(model: ra.Model, *programs: tuple[ra.Schedule, Program]) -> None:
    """Compare programs, each of a schedule of the model, with the oracle on every batch: interpreted by two workers."""
    params = model.init_params(seed=1)
    for batch in BATCHES:
        expected = ra.evaluate(model, params, batch)
        for schedule, program in programs:
            verify(program)
            arrays: Linearized = linearize(schedule.plan(), batch)
            check_agreement(interpreted(program, arrays, params), expected, kernel(program))


def check_compiled(model: ra.Model, schedule: ra.Schedule) -> None:
    """Compare machine code with the oracle on every batch."""
    params = model.init_params(seed=1)
    function = cortex.compile(schedule, params, threads=2)
    for batch in BATCHES:
        out = function(batch)
        rows = {name: out.nodes(name) for name in out}
        found = [{name: rows[name][s] for name in rows} for s in range(out.num_structures)]
        check_agreement(found, ra.evaluate(model, params, batch), "machine code")


def final(program: Program) -> Program:
    """Return what the default passes make of a lowered program for two threads."""
    return run_passes(program, passes_for(threads=2))[-1].program
