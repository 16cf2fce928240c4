"""Leaves that look up rows which products read: a block of them at a time."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given

import cortex
from cortex import RecursionOptions, models, ra
from cortex.models.inputs import projections
from tests.support.agreement import check_agreement
from tests.support.random_structures import batches

WORDS = 50


def looked_up(hidden: int) -> ra.Model:
    """Return h = tanh(W x + Σ_k h_k), where x is the embedding of a word, or zero."""
    h_ph = ra.placeholder((ra.N, hidden), name="h_ph")
    Wx = projections("word", "h", hidden, 20, WORDS)["h"]
    hs = ra.compute((ra.N, hidden), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]), name="hs")
    h = ra.compute((ra.N, hidden), lambda n, i: ra.tanh(Wx[n, i] + hs[n, i]), name="h")
    return ra.recursion_op({"h": (h_ph, h)}, structure=ra.Tree())


MODEL = looked_up(32)
PARAMS = MODEL.init_params(seed=1)
BLOCK = 3


@cache
def compiled(threads: int, block: int = BLOCK, precision: str = "float32") -> cortex.RecursiveFunction:
    return cortex.compile(
        MODEL, PARAMS, threads=threads, options=RecursionOptions(gather_block_rows=block), precision=precision
    )


def comb(leaves: int) -> object:
    """Return a tree of so many leaves, one at each height."""
    tree: object = 0
    for word in range(1, leaves):
        tree = (tree, word % WORDS)
    return tree


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_numbers_of_leaves_around_those_of_a_block(threads, precision):
    fn, whole = compiled(threads, BLOCK, precision), compiled(1, 10_000, precision)
    rows = BLOCK * threads
    for leaves in (1, 2, rows - 1, rows, rows + 1, 2 * rows - 1, 2 * rows, 7 * rows + 2):
        trees = [comb(leaves)]
        mine, other = (each(trees).nodes("h") for each in (fn, whole))
        assert [each.tobytes() for each in mine] == [each.tobytes() for each in other]
        if precision == "float32":
            check_agreement([{"h": each} for each in mine], ra.evaluate(MODEL, PARAMS, trees), f"{leaves}")
    assert fn([])["h"].shape == (0, 32)


@given(structures=batches(MODEL.plan()))
def test_random_structures(structures):
    mine = compiled(2, 1)(structures).nodes("h")
    check_agreement([{"h": each} for each in mine], ra.evaluate(MODEL, PARAMS, structures), "blocks of two")


def test_each_worker_has_room_for_the_rows_of_one_block():
    def loops(threads: int, options: RecursionOptions) -> str:
        fn = cortex.compile(MODEL, PARAMS, threads=threads, options=options, target="llvm -mcpu=x86-64-v4")
        return fn.show("loops")

    few = RecursionOptions(gather_block_rows=BLOCK)
    room = "x_leaf: workspace(float32[workers, {}, 20], dims=(None, N, None))"
    assert room.format(2 * BLOCK) in loops(2, few)
    assert room.format(2 * 24) in loops(2, RecursionOptions())
    assert "x_leaf: workspace" not in loops(1, few)  # a row of it, no more, is made where it is used


def test_no_block_waits_for_others_columns():
    kernel = compiled(2).show("loops").partition("with kernel:\n")[2]
    _, found, blocks = kernel.partition(f"(batch_length(0) + {2 * BLOCK - 1}) // {2 * BLOCK}, N):")
    leaves, inner, _ = blocks.partition("for step in")
    assert found and inner and "barrier(team)" not in leaves


@pytest.mark.parametrize("build", [models.tree_fc, models.mv_rnn])
def test_leaves_that_copy_no_rows_for_products_are_one_loop(build):
    model = build(hidden=32, vocab=WORDS)
    fn = cortex.compile(model, model.init_params(seed=0), threads=2)
    assert "s.apply(serial, " not in fn.show("schedule")
