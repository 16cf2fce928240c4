"""Batches: those that are timed are other trees than those to warm up with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.peers.job import Cell
from bench.recursive import parse
from bench.trees import flatten, nodes, perfect_trees, steps
from bench.workloads import RECURSIVE, WORKLOADS, Structures, Workload, deal, make_case


@given(st.integers(0, 160), st.integers(1, 20), st.integers(1, 12))
def test_warming_up_is_with_other_trees(more, size, rounds):
    available = 2 * size + more
    (batches,) = deal(available, [size], rounds)
    timed = [number for batch in batches.timed for number in batch]
    warm = [number for batch in batches.warm for number in batch]
    assert 1 <= len(batches.timed) <= rounds
    assert batches.warm
    assert not set(timed) & set(warm)
    assert sorted({*timed, *warm}) == sorted([*timed, *warm])
    assert timed[0] == 0
    assert max(*timed, *warm) < available


def test_a_case_keeps_the_trees_that_it_uses():
    treebank = perfect_trees(50, 2, 30, seed=1)
    case = make_case(Workload(Cell.TREE_LSTM, (8,)), 8, treebank, [1, 4], rounds=3, threads=2)
    sizes = [(batches.size, len(batches.timed), len(batches.warm)) for batches in case.batches]
    assert sizes == [(1, 3, 3), (4, 3, 3)]
    assert len(case.trees) == 12 + 12
    assert {len(case.of(batch)) for batch in case.batches[1].timed} == {4}
    words = {node.word for tree in case.trees for child in tree.children for node in child.children}
    assert words == set(range(len(case.job.params["emb"])))


def test_a_treebank_is_left_as_it_was():
    treebank = perfect_trees(10, 2, 30, seed=1)
    before = [tree.children[0].children[0].word for tree in treebank]
    make_case(WORKLOADS["tree_lstm"], 8, treebank, [1], rounds=1, threads=1)
    assert [tree.children[0].children[0].word for tree in treebank] == before


def test_a_small_treebank_gives_its_trees_again():
    treebank = perfect_trees(3, 2, 30, seed=1)
    case = make_case(WORKLOADS["tree_lstm"], 8, treebank, [4], rounds=5, threads=1)
    (batches,) = case.batches
    assert (len(batches.timed), len(batches.warm), len(case.trees)) == (1, 1, 8)
    assert len({str(flatten(tree)) for tree in case.trees}) == 8


def test_nodes_of_grids_carry_rows_of_the_payloads():
    case = make_case(Workload(Cell.GATED_DAG, (8,), Structures.GRIDS), 8, [], [1], rounds=1, threads=1)
    assert {name: rows.shape[1] for name, rows in case.job.payloads.items()} == {"x_z": 8, "x_u": 8, "x_e": 8}
    assert len({len(rows) for rows in case.job.payloads.values()}) == 1
    for node in nodes(case.trees):
        np.testing.assert_array_equal(node.x_u, case.job.payloads["x_u"][node.word])


def test_sequences_have_a_hundred_steps_which_carry_vectors():
    case = make_case(WORKLOADS["lstm"], 8, [], [1, 2], rounds=1, threads=1)
    for tree in case.trees:
        assert [step.x.shape for step in steps(tree)] == [(8,)] * 100


def test_sequences_are_measured_where_they_are_asked_for():
    assert [name for name in WORKLOADS if name not in RECURSIVE] == ["lstm", "gru", "gru_reset_after"]
    _, options = parse(["--quick"])
    assert options.workloads == RECURSIVE
    _, options = parse(["--quick", "--workloads", "lstm,gru"])
    assert options.workloads == ("lstm", "gru")


@pytest.mark.parametrize(("name", "deviation"), [("lstm", 1.0), ("dag_rnn", 2.0)])
def test_vectors_have_a_deviation(name, deviation):
    case = make_case(WORKLOADS[name], 32, [], [1], rounds=1, threads=1)
    for rows in case.job.payloads.values():
        assert np.std(rows) == pytest.approx(deviation, rel=0.05)
