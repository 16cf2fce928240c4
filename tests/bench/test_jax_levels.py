"""The peer on JAX: what it compiles for, and how it cuts levels into blocks."""

import numpy as np
import pytest

from bench.peers.jax_levels import Measured, _blocks
from bench.peers.job import Cell, Job
from bench.trees import Tree, perfect_tree


@pytest.fixture
def peer():
    random = np.random.default_rng(0)
    params = {"W": (4, 8), "b": (4,), "emb": (10, 4)}
    drawn = {name: random.standard_normal(shape, np.float32) for name, shape in params.items()}
    return Measured(Job(Cell.TREE_FC, 4, drawn, threads=2))


def chain(inner):
    tree = Tree(word=0)
    for _ in range(inner):
        tree = Tree([tree, Tree(word=1)])
    return tree


def test_trees_of_other_forms_compile_nothing(peer):
    peer.end_to_end([chain(7)])
    assert peer.compiled._cache_size() == 1
    peer.end_to_end([perfect_tree(3, range(8))])
    assert peer.compiled._cache_size() == 1
    peer.end_to_end([chain(17)])
    assert peer.compiled._cache_size() == 2


def test_levels_take_few_blocks_and_every_node_is_in_one():
    counts = np.arange(200)
    widths = np.array([64, 8, 1])
    held = _blocks(counts) @ widths
    assert (held >= counts).all()
    assert (held - counts <= 32).all()
    assert _blocks(np.array([0, 1, 4, 5, 64, 100])).tolist() == [
        [0, 0, 0],
        [0, 0, 1],
        [0, 0, 4],
        [0, 1, 0],
        [1, 0, 0],
        [2, 0, 0],
    ]
