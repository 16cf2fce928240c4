"""Structures with random payloads, for models that are run without data of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cortex import Node, ra

_LEVELS, _STRUCTURES = 6, 10


def _nodes(model: ra.Model) -> Callable[..., Node]:
    """Return what makes a node of children, with all payloads that the model reads."""
    rng = np.random.default_rng(0)
    payloads = model.plan().payloads

    def node(*children: Node) -> Node:
        drawn = {
            each.name: rng.integers(*(each.range or (0, 9)), each.shape)
            if each.dtype.is_int
            else rng.standard_normal(each.shape)
            for each in payloads
        }
        return Node(
            children, **{each.name: np.asarray(drawn[each.name], each.dtype.numpy) for each in payloads}
        )

    return node


def small_structures(model: ra.Model, leaves: int = 1) -> list[object]:
    """Return a few structures with all payloads: of all shapes that remainders of small tiles have, quick to run.

    The last one is a balanced tree of so many `leaves`, or as many steps of a sequence.
    """
    node = _nodes(model)

    def tree(leaves: int) -> Node:
        if isinstance(model.structure, ra.Sequence):
            return node(tree(leaves - 1)) if leaves > 1 else node()
        return node(tree(leaves // 2), tree(leaves - leaves // 2)) if leaves > 1 else node()

    if isinstance(model.structure, ra.Sequence):
        return [node(node(node(node(node())))), node(), node(node()), tree(leaves)]
    return [
        node(node(node(), node()), node(node(), node(node(), node()))),
        node(),
        node(node(node(), node(node(), node())), node()),
        tree(leaves),
    ]


def batch(model: ra.Model) -> list[object]:
    """Return a batch that is large enough to be timed: ten complete binary trees of six levels, or sequences."""
    node = _nodes(model)

    def tree(levels: int) -> Node:
        if isinstance(model.structure, ra.Sequence):
            return node(tree(levels - 1)) if levels > 1 else node()
        return node(tree(levels - 1), tree(levels - 1)) if levels > 1 else node()

    return [tree(_LEVELS) for _ in range(_STRUCTURES)]
