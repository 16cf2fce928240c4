"""Matrices of nodes' own: how they are stored, shared out and multiplied, and that no bit depends on it."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import RecursionOptions, models, ra
from cortex.linearize import linearize
from cortex.ra.schedule import default_schedule
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.pair_products_bf16 import PairProductsBf16
from ragged.ir.printer import to_text
from ragged.machine import Machine
from ragged.transform.loops.unroll import unroll
from tests.support.agreement import check_agreement, interpreted

TWO_CORES = Machine(vector_bytes=16, vector_registers=16, cores=2, l1_bytes=32 * 1024, l2_bytes=256 * 1024)
TREES = [((1, 2), (3, (4, 5))), 6, ((0, (1, 2)), ((3, 4), (5, 6)))]
N = ra.N


def two_sided(hidden: int) -> ra.Model:
    """Return a cell of nodes that have a matrix that its children's are multiplied into from both sides."""
    H = hidden
    U, b = ra.input_tensor("U", (H, H)), ra.input_tensor("b", (H,))
    emb_A = ra.input_tensor("emb_A", (7, H, H))
    word = ra.node_input("word", dtype="int32")
    A_ph = ra.placeholder((N, H, H), name="A_ph")
    product = ra.compute(
        (N, H, H),
        lambda n, i, j: ra.sum(H, lambda k: A_ph[n.left, i, k] * A_ph[n.right, k, j]),
        name="product",
    )
    seen = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: A_ph[n.right, i, j] * b[j]), name="seen")
    own = ra.compute((N, H, H), lambda n, i, j: ra.sum(H, lambda k: U[i, k] * product[n, k, j]), name="own")
    inner = ra.compute((N, H, H), lambda n, i, j: ra.tanh(own[n, i, j] + seen[n, i]), name="inner")
    leaf = ra.compute((N, H, H), lambda n, i, j: emb_A[word[n], i, j], name="leaf")
    A = ra.if_then_else((N, H, H), lambda n, i, j: (ra.isleaf(n), leaf, inner), name="A")
    return ra.recursion_op({"A": (A_ph, A)}, structure=ra.Tree(max_children=2))


CELLS = {"mv_rnn": lambda hidden: models.mv_rnn(hidden, vocab=7), "two_sided": two_sided}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "hidden",
    [1, 4, pytest.param(8, marks=pytest.mark.thorough), 12, pytest.param(20, marks=pytest.mark.thorough)],
)
@pytest.mark.parametrize("cell", CELLS)
def test_results(cell, hidden, threads):
    model = CELLS[cell](hidden)
    params = model.init_params(seed=hidden)
    program = DefaultSchedule(TWO_CORES, threads)(default_schedule(model).lower()).program
    for structures in (TREES, TREES[:1], []):
        expected = ra.evaluate(model, params, structures)
        linearized = linearize(model.plan(), structures)
        got = interpreted(program, linearized, params, workers=threads)
        check_agreement(got, expected, cell)


def test_results_where_rows_are_left_over():
    """A slice has 28 columns of a node's matrix: four tiles of six, and four."""
    model = models.mv_rnn(56, vocab=7)
    params = model.init_params(seed=3)
    machine = Machine(16, 32, 2, 32 * 1024, 256 * 1024)
    made = DefaultSchedule(machine, 2)(default_schedule(model).lower())
    assert any("s.apply(partition_loop, " in step and "s.index('24'" in step for step in made.notes)
    expected = ra.evaluate(model, params, [(1, 2)])
    got = interpreted(made.program, linearize(model.plan(), [(1, 2)]), params, workers=2)
    check_agreement(got, expected, "mv_rnn")


@pytest.mark.parametrize(
    ("hidden", "keep", "precision"),
    [
        (20, "nodes", "float32"),
        (32, "roots", "bf16"),
        pytest.param(32, "nodes", "float32", marks=pytest.mark.thorough),
        pytest.param(64, "roots", "float32", marks=pytest.mark.thorough),
        pytest.param(32, "nodes", "bf16", marks=pytest.mark.thorough),
        pytest.param(64, "roots", "bf16", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("cell", CELLS)
def test_the_same_bits(cell, hidden, keep, precision):
    model = CELLS[cell](hidden)
    params = model.init_params(seed=1)
    ways = [
        cortex.compile(
            model,
            params,
            threads=threads,
            keep=keep,
            precision=precision,
            options=RecursionOptions(per_node_matrices=matrices),
        )
        for threads, matrices in [(1, False), (1, True), (2, True)]
    ]
    results = [way(TREES) for way in ways]
    for name in model.results:
        for other in results[1:]:
            np.testing.assert_array_equal(other[name], results[0][name])
            if keep == "nodes":
                for mine, first in zip(other.nodes(name), results[0].nodes(name), strict=True):
                    np.testing.assert_array_equal(mine, first)


def test_mv_rnn_is_in_vectors():
    """What a node's matrix is multiplied with is summed in vectors, and a worker takes all slices of a node."""
    schedule = DefaultSchedule(TWO_CORES, threads=2)
    steps = "\n".join(schedule(default_schedule(models.mv_rnn(64, vocab=7)).lower()).notes)
    for step in (
        "set_order, s.buffer('M'), (0, 2, 1)",
        "pack, s.buffer('emb_M'), 'emb_M_packed', (), (0, 2, 1)",
        "reorder, (s.loop('n', 1), s.loop('n_s'))",
        "fuse_siblings, ",
    ):
        assert f"s.apply({step}" in steps, step
    plain = "\n".join(
        DefaultSchedule(TWO_CORES, 2, RecursionOptions(per_node_matrices=False).of_loops)(
            default_schedule(models.mv_rnn(64, vocab=7)).lower()
        ).notes
    )
    assert "set_order" not in plain and "fuse_siblings" not in plain


def test_pairs_of_mv_rnns_matrices_stay_with_who_multiplies_them():
    """Each slice of a node rounds rows of its own, next to each other in memory, for products on a matrix unit."""
    machine = Machine(64, 32, 2, 32 * 1024, 1024 * 1024, matrix_unit=True)
    program = PairProductsBf16()(default_schedule(models.mv_rnn(64, vocab=7)).lower()).program
    new = DefaultSchedule(machine, threads=2)(program)
    text = to_text(new.program)
    for pairs in ("M_pairs", "M_pairs_1"):
        assert f"{pairs} = local(bfloat16x2[32, 32], order=(1, 0))" in text
    assert "for j_s in tensorized(32):" in text
    assert not any("fuse_siblings" in step for step in new.notes)


def test_rows_left_over_come_after_those_that_are_jammed():
    """A slice of 32 rows has five tiles of six, and two rows."""
    machine = Machine(64, 32, 2, 8 * 1024, 1024 * 1024)
    new = DefaultSchedule(machine, threads=2)(default_schedule(models.mv_rnn(64, vocab=7)).lower())
    steps = "\n".join(new.notes)
    assert "s.apply(fuse_siblings, " in steps and "s.apply(reorder_stmts, s.loop('j_s'" in steps
    assert "for j_s_o in serial(5):" in to_text(new.program)


def test_one_packing_serves_tiles_of_all_rows_and_of_those_left_over():
    """Slices of 32 columns are five tiles of six rows and one of two, which could hold all vectors of a column."""
    machine = Machine(64, 32, 4, 32 * 1024, 1024 * 1024)
    new = DefaultSchedule(machine, threads=4)(default_schedule(models.mv_rnn(128, vocab=7)).lower())
    assert "W_M_packed: bound(float32[2, 256, 64]" in to_text(new.program)


@pytest.mark.parametrize("make", [models.tree_fc, models.tree_gru, models.tree_lstm])
def test_cells_of_vectors_are_left_as_they_are(make):
    extra = {} if make is models.tree_fc else {"embed": 24}
    program = default_schedule(make(hidden=32, vocab=7, **extra)).lower()
    texts = [
        str(DefaultSchedule(TWO_CORES, 2, RecursionOptions(per_node_matrices=on).of_loops)(program).program)
        for on in (False, True)
    ]
    assert texts[0] == texts[1]


def test_code_that_the_vectorizers_of_llvm_break_is_built_without_them() -> None:
    """The products of the matrices of 4 features, unrolled, made a module that LLVM's own verifier refused."""
    H = 4
    w, A_ph = ra.node_input("w", (H,)), ra.placeholder((N, H, H))
    leaf = ra.compute((N, H, H), lambda n, i, j: w[n, i] * w[n, j] * 0.3)
    inner = ra.compute(
        (N, H, H),
        lambda n, i, j: ra.tanh(ra.sum(H, lambda k: A_ph[n.left, i, k] * A_ph[n.right, k, j])),
    )
    body = ra.if_then_else((N, H, H), lambda n, i, j: (ra.isleaf(n), leaf, inner))
    model = ra.recursion_op(A_ph, body, structure=ra.Tree(max_children=2))
    schedule = ra.Schedule(model)
    schedule.specialize_leaves()
    loops = cortex.loop_schedule(schedule)
    loops.apply(unroll, loops.loop("k"))
    random = np.random.default_rng(0)
    one, two, three = (cortex.Node([], w=random.standard_normal(H).astype(np.float32)) for _ in range(3))
    zero = np.zeros(H, np.float32)
    tree = cortex.Node([cortex.Node([one, two], w=zero), three], w=zero)
    got = cortex.compile(loops, {})(tree).nodes("h")[0]
    np.testing.assert_allclose(got, ra.evaluate(model, {}, tree)["h"], rtol=1e-4, atol=1e-5)
