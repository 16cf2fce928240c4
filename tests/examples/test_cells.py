"""The cells of examples/cells/ against their PyTorch modules, by the oracle and compiled, with the modules' states."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import cortex
from cortex import Node, ra
from examples.cells import (
    binary_tree_lstm,
    dagnn,
    labelled_tree,
    normalized_tree_convolution,
    rntn,
    tree_convolution,
    tree_lstm_classifier,
    tree_transformer,
)

CELLS = Path(tree_transformer.__file__).parent
E, V, L = 3, 5, 4
CASES: dict[str, tuple[Any, Any, tuple[int, ...], bool]] = {
    "binary_tree_lstm": (binary_tree_lstm.BinaryTreeLSTM, binary_tree_lstm.binary_tree_lstm, (E, 4), True),
    "dagnn": (dagnn.DAGNN, dagnn.dagnn, (E, 4), False),
    "labelled_tree": (labelled_tree.LabelledTree, labelled_tree.labelled_tree, (L, E, 5), False),
    "normalized_tree_convolution": (
        normalized_tree_convolution.TreeConvolution,
        normalized_tree_convolution.tree_convolution,
        (E, 4),
        True,
    ),
    # Of 3 features: LLVM 22's vectorizer of straight-line code makes a module of it that its verifier refuses.
    "rntn": (rntn.RNTN, rntn.rntn, (V, 3), True),
    "tree_convolution": (tree_convolution.TreeConvolution, tree_convolution.tree_convolution, (E, 4), True),
    "tree_lstm_classifier": (
        tree_lstm_classifier.TreeLSTM,
        tree_lstm_classifier.tree_lstm,
        (V, E, 4, 6),
        False,
    ),
    "tree_transformer": (
        tree_transformer.TreeTransformer,
        tree_transformer.tree_transformer,
        (E, 4, 6),
        False,
    ),
}


def tree(rng: np.random.Generator, leaves: int, *, binary: bool) -> Node:
    """Return a tree with every payload at each node; without `binary` of one to three children."""

    def node(children: list[Node]) -> Node:
        x = rng.standard_normal(E).astype(np.float32)
        return Node(children, x=x, word=int(rng.integers(V)), label=int(rng.integers(L)))

    made = [node([]) for _ in range(leaves)]
    while len(made) > 1:
        width = 2 if binary else min(len(made), int(rng.integers(1, 4)))
        made = [*made[width:], node(made[:width])]
    return made[0]


def test_each_cell_has_its_case():
    assert sorted(path.stem for path in CELLS.glob("*.py")) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_cell_is_its_module(name):
    make_module, make_model, sizes, binary = CASES[name]
    torch.manual_seed(0)
    module, model, rng = make_module(*sizes).eval(), make_model(*sizes), np.random.default_rng(0)
    trees = [tree(rng, leaves, binary=binary) for leaves in (5, 1)]
    params = module.state_dict()
    out = cortex.compile(model, params, threads=1)(trees)
    for number, each in enumerate(trees):
        with torch.no_grad():
            want = module(each)
        oracle = ra.evaluate(model, params, each)
        for output, value in want.items():
            np.testing.assert_allclose(oracle[output][-1], value.numpy(), atol=2e-6)
            np.testing.assert_allclose(out[output][number], value.numpy(), atol=2e-6)


@pytest.mark.parametrize("name", CASES)
def test_the_port_is_shorter_than_the_module(name):
    text = (CELLS / f"{name}.py").read_text(encoding="utf-8")
    module, port = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef))
    lines = text.splitlines()
    sizes = [
        sum(bool(line.strip()) for line in lines[each.lineno - 1 : each.end_lineno])
        for each in (module, port)
    ]
    assert isinstance(module, ast.ClassDef) and sizes[1] < sizes[0], sizes


@pytest.mark.parametrize("name", CASES)
def test_it_takes_nothing_but_the_public_api(name):
    text = (CELLS / f"{name}.py").read_text(encoding="utf-8")
    imported = re.findall(r"^(?:from|import) ([\w.]+)", text, re.MULTILINE)
    assert set(imported) == {"torch", "cortex"}
