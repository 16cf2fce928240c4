"""The trees of a treebank as structures of any model: what a plan asks for is drawn for each node."""

from __future__ import annotations

import numpy as np

from cortex import Node
from cortex.ilir.plan import Plan, StructureKind
from tests.support.random_structures import value_of
from tests.support.treebank import treebank_path


def real_structures(plan: Plan, count: int, most: int) -> list[Node]:
    """Return the first structures of at most so many nodes: binary trees, or sequences of as many steps as words."""
    found: list[Node] = []
    for line in treebank_path().read_text(encoding="utf-8").splitlines():
        shape = shape_of(line)
        if plan.kind is StructureKind.SEQUENCE or plan.most_children == 1:
            shape = [[place - 1] if place else [] for place in range(sum(1 for below in shape if not below))]
        if len(shape) <= most:
            found.append(_with_payloads(plan, shape, len(found)))
        if len(found) == count:
            break
    return found


def shape_of(line: str) -> list[list[int]]:
    """Return each node's children in post-order, for a tree in brackets: `(3 (2 good) (2 food))` has two leaves."""
    shape: list[list[int]] = []
    open_nodes: list[list[int]] = []
    for token in line.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            open_nodes.append([])
        elif token == ")":
            shape.append(open_nodes.pop())
            if open_nodes:
                open_nodes[-1].append(len(shape) - 1)
    return shape


def _with_payloads(plan: Plan, shape: list[list[int]], seed: int) -> Node:
    random = np.random.default_rng(seed)
    made: list[Node] = []
    for children in shape:
        payload = {
            each.name: value_of(each, random)
            for each in plan.payloads
            if each.required.at(not children) or (not children and each.range is not None) or each.shape
        }
        made.append(Node([made[child] for child in children], **payload))
    return made[-1]
