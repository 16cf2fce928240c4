"""A check that no fact proves: it stays in the kernel, is said to, and ends a call at run time."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import Node, ra
from cortex.linearize import linearize
from ragged.errors import DataError
from ragged.ir.interpret import CheckFailed
from tests.bounds.five import checks_in
from tests.support.agreement import check_agreement, interpreted

N, H, V = ra.N, 3, 6


def labelled() -> ra.Model:
    """Return a model of nodes that carry three labels each, as one array: facts are about scalars."""
    emb = ra.input_tensor("emb", (V, H))
    labels = ra.node_input("labels", (3,), dtype="int32")
    ph = ra.placeholder((N, H))
    x = ra.compute((N, H), lambda n, i: ra.sum(3, lambda j: emb[labels[n, j], i]), name="x")
    h = ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + ra.sum_children(n, lambda k: ph[k, i])), name="h")
    return ra.recursion_op(ph, h, structure=ra.Tree())


MODEL = labelled()
PARAMS = MODEL.init_params(seed=0)
TREE = Node(
    [Node([], labels=[0, 1, 2]), Node([Node([], labels=[5, 5, 5])], labels=[3, 4, 5])], labels=[5, 0, 0]
)


@pytest.fixture(scope="module")
def function() -> cortex.RecursiveFunction:
    return cortex.compile(MODEL, PARAMS, threads=2)


def test_it_stays_alone_and_is_said_to(function, golden):
    golden("labelled.txt", function.show("checks") + "\n")
    loops = function.show("loops")
    kernel = loops[loops.index("with kernel:") :]
    # Inner nodes add labels up before the recursion, leaves in their own loop.
    assert kernel.count("check(") == 2
    assert 'check(0 <= int64(labels[node, j]) and int64(labels[node, j]) < 6, "index {0} of' in kernel


def test_structures_are_refused_before(function):
    with pytest.raises(
        DataError, match=r"structure 1, node 0.*payload `labels` holds 6, outside 0 <= labels < 6"
    ):
        function([TREE, Node([], labels=[0, 6, 1])])


@pytest.mark.parametrize("value", [6, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("node", [0, 3])
def test_what_was_changed_after_linearizing_ends_the_call(function, node, value):
    batch = function.linearize([TREE])
    changed = batch.payloads["labels"].copy()
    changed[node, 1] = value
    with pytest.raises(DataError) as refused:
        function(batch.replace(payloads={"labels": changed}))
    first, place = str(refused.value).splitlines()
    assert first == f"index {value} of dimension 0 of 'emb' is outside [0, 6): 'labels'[{node}, 1] is {value}"
    assert place.startswith("  at test_a_check_that_stays.py:")
    with pytest.raises(CheckFailed):
        interpreted(ra_program(), batch.replace(payloads={"labels": changed}), PARAMS)


def ra_program():
    """Return the model's program with all its checks in it."""
    from cortex.compiler.pipeline import passes_for
    from cortex.ra.schedule import default_schedule
    from ragged.passes.pipeline import run_passes

    program = run_passes(default_schedule(MODEL).lower(), passes_for(threads=2))[-1].program
    assert len(checks_in(program.kernel)) == 1
    return program


def test_the_function_computes_what_the_oracle_does(function):
    expected = ra.evaluate(MODEL, PARAMS, [TREE])
    out = function([TREE])
    check_agreement([{"h": rows} for rows in out.nodes("h")], expected, "machine code")
    check_agreement(
        interpreted(ra_program(), linearize(MODEL.plan(), [TREE]), PARAMS), expected, "interpreter"
    )
    assert np.isfinite(out["h"]).all()
