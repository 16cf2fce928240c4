"""The peer on JAX: what it compiles for, and how it cuts levels into blocks.

JAX starts threads that no process that forks later should have: it is imported in a process of its own.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
import json
import numpy as np
from bench.peers.jax_levels import Measured, _blocks
from bench.peers.job import Cell, Job
from bench.trees import Tree, perfect_tree

def chain(inner):
    tree = Tree(word=0)
    for _ in range(inner):
        tree = Tree([tree, Tree(word=1)])
    return tree

random = np.random.default_rng(0)
params = {"W": (4, 8), "b": (4,), "emb": (10, 4)}
drawn = {name: random.standard_normal(shape, np.float32) for name, shape in params.items()}
peer = Measured(Job(Cell.TREE_FC, 4, drawn, threads=2))
compiled = []
for tree in (chain(7), perfect_tree(3, range(8)), chain(17)):
    peer.end_to_end([tree])
    compiled.append(peer.compiled._cache_size())
print(json.dumps({"compiled": compiled, "blocks": _blocks(np.arange(200)).tolist()}))
"""


@pytest.fixture(scope="module")
def found():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_trees_of_other_forms_compile_nothing(found):
    """The third has more nodes than the power of two that the first two are padded to."""
    assert found["compiled"] == [1, 1, 2]


def test_levels_take_few_blocks_and_every_node_is_in_one(found):
    counts, blocks = np.arange(200), np.array(found["blocks"])
    held = blocks @ np.array([64, 8, 1])
    assert (held >= counts).all()
    assert (held - counts <= 32).all()
    few = {0: [0, 0, 0], 1: [0, 0, 1], 4: [0, 0, 4], 5: [0, 1, 0], 64: [1, 0, 0], 100: [2, 0, 0]}
    assert {count: blocks[count].tolist() for count in few} == few
