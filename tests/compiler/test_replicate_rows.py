"""Replicated rows: how often a batch's workers wait for each other."""

import pytest

from cortex import RecursionOptions, models, ra
from cortex.ra.schedule import default_schedule
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.pair_products_bf16 import PairProductsBf16
from ragged.ir.printer import to_text
from ragged.machine import Machine

TWO_CORES = Machine(vector_bytes=16, vector_registers=16, cores=2, l1_bytes=32 * 1024, l2_bytes=256 * 1024)
HIDDEN = 16
MODELS = {
    "sums over children": (models.dag_rnn(HIDDEN, HIDDEN), 1, 2),
    "sums, and products of each child": (models.tree_lstm(HIDDEN, HIDDEN, 30), 2, 3),
    "copies of children's rows": (models.nary_tree_lstm(HIDDEN, HIDDEN, 30), 1, 2),
    "what gates have made": (models.tree_gru(HIDDEN, HIDDEN, 30), 2, 3),
    "matrices of nodes' own": (models.mv_rnn(HIDDEN, 30), 2, 2),
}
"""Barriers of a batch: with rows of one's own, and without."""


def shared_out(model, *, rounded=False, own=True, threads=2):
    """Return the program with the default schedule, as text."""
    program = default_schedule(model).lower()
    if rounded:
        program = PairProductsBf16()(program).program
    schedule = DefaultSchedule(TWO_CORES, threads, options=RecursionOptions(replicate_rows=own))
    return to_text(schedule(program).program)


def barriers(model, *, rounded, own):
    """Return how many barriers stand in the loop over batches."""
    _, _, batches = shared_out(model, rounded=rounded, own=own).partition(
        "for step in serial(num_batches - 1"
    )
    assert batches
    return batches.count("barrier(team)")


@pytest.mark.parametrize("name", MODELS)
def test_nobody_waits_for_rows_that_he_makes_himself(name):
    model, own, shared = MODELS[name]
    assert [barriers(model, rounded=False, own=mine) for mine in (True, False)] == [own, shared]


def test_rows_that_leaves_make_too_are_nobodys_own():
    """A word's embedding is looked up at leaves and at inner nodes, where a product reads it."""
    N = ra.N
    word, table = ra.node_input("word", dtype="int32"), ra.input_tensor("table", (11, HIDDEN))
    V, h = ra.input_tensor("V", (HIDDEN, HIDDEN)), ra.placeholder((N, HIDDEN))
    e = ra.compute((N, HIDDEN), lambda n, i: table[word[n], i])
    s = ra.compute((N, HIDDEN), lambda n, i: ra.sum_children(n, lambda k: h[k, i]))
    z = ra.compute((N, HIDDEN), lambda n, i: ra.sum(HIDDEN, lambda j: V[i, j] * (e[n, j] + s[n, j])))
    model = ra.recursion_op(h, ra.compute((N, HIDDEN), lambda n, i: ra.tanh(z[n, i])))
    text = shared_out(model)
    assert "s: workspace(float32[workers, widest_nodes, 16]" in text
    assert "e: workspace(float32[num_nodes, 16]" in text


def test_rows_that_nodes_of_each_class_make_are_nobodys_own():
    """Nodes that carry a word and nodes that do not have a loop each in a batch, and add up their children there."""
    N, H = ra.N, 2 * HIDDEN
    word = ra.node_input("word", dtype="int32", default=-1)
    table, U, h = ra.input_tensor("table", (11, H)), ra.input_tensor("U", (H, H)), ra.placeholder((N, H))
    x = ra.compute((N, H), lambda n, i: ra.where(word[n] >= 0, table[word[n], i], 0.5), name="x")
    s = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h[k, i]), name="s")
    z = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: U[i, j] * s[n, j]), name="z")
    model = ra.recursion_op(h, ra.compute((N, H), lambda n, i: ra.tanh(x[n, i] + z[n, i])))
    schedule = ra.Schedule(model)
    schedule.dynamic_batch()
    schedule.specialize(lambda n: word[n] >= 0)
    program = DefaultSchedule(TWO_CORES, 2)(schedule.lower())
    assert "s: workspace(float32[num_nodes, 32]" in to_text(program.program)
    assert not [note for note in program.notes if note.startswith("# one worker")]


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_nobody_waits_for_pairs_of_them_either(name):
    model, own, shared = MODELS[name]
    assert barriers(model, rounded=True, own=True) == own
    assert barriers(model, rounded=True, own=False) >= shared


def compared():
    """Return a cell in which the gates of all children are compared before any of them is used."""
    N, K, H = ra.N, ra.K, HIDDEN
    U, h, x = ra.input_tensor("U", (H, H)), ra.placeholder((N, H)), ra.node_input("x", (H,))
    Uh = ra.compute((N, K, H), lambda n, k, i: ra.sum(H, lambda j: U[i, j] * h[k, j]))
    gate = ra.compute((N, K, H), lambda n, k, i: ra.sigmoid(Uh[n, k, i] + x[n, i]), name="gate")
    most = ra.compute((N, H), lambda n, i: ra.max_children(n, lambda k: gate[n, k, i]))
    less = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: most[n, i] - gate[n, k, i]))
    new = ra.compute((N, H), lambda n, i: ra.where(ra.isleaf(n), x[n, i], ra.tanh(less[n, i])))
    return ra.recursion_op(h, new)


@pytest.mark.parametrize("threads", [1, 4])
def test_edges_of_one_batch_after_another_have_the_same_rows(threads):
    assert "gate: workspace(float32[widest_edges, 16]" in shared_out(compared(), threads=threads)


def test_what_is_made_of_one_child_at_a_time_needs_no_room_for_edges():
    assert "gate_f: workspace" not in shared_out(models.tree_lstm(HIDDEN, HIDDEN, 30))
