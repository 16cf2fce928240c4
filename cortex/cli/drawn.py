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


def _chain(node: Callable[..., Node], steps: int) -> Node:
    return node(_chain(node, steps - 1)) if steps > 1 else node()


def _tree(node: Callable[..., Node], leaves: int) -> Node:
    return node(_tree(node, leaves // 2), _tree(node, leaves - leaves // 2)) if leaves > 1 else node()


def small_structures(model: ra.Model, leaves: int = 1) -> list[object]:
    """Return a few structures with all payloads: of all shapes that remainders of small tiles have, quick to run.

    The last one is a balanced tree of so many `leaves`, or as many steps of a sequence.
    """
    node = _nodes(model)
    if isinstance(model.structure, ra.Sequence):
        return [_chain(node, 5), _chain(node, 2), _chain(node, leaves)]
    return [
        node(node(node(), node()), node(node(), node(node(), node()))),
        node(node(node(), node(node(), node())), node()),
        _tree(node, leaves),
    ]


def batch(model: ra.Model) -> list[object]:
    """Return a batch that is large enough to be timed: ten complete binary trees of six levels, or sequences."""
    node = _nodes(model)
    if isinstance(model.structure, ra.Sequence):
        return [_chain(node, _LEVELS) for _ in range(_STRUCTURES)]
    return [_tree(node, 2 ** (_LEVELS - 1)) for _ in range(_STRUCTURES)]
