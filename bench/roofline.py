"""The least time that a batch can take on a machine with given ceilings.

It is the sum over levels of the larger of (operations / peak) and (weight bytes / bandwidth of the cache that holds
each core's share of them). The work is the model's products at each node that needs them: none is counted for
padding, and activations, gates and tables are not counted either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bench.ceilings import Ceilings
from bench.products import Product, needed_products
from bench.trees import Tree, nodes
from cortex import ra


@dataclass(frozen=True, slots=True)
class Work:
    """What there is to do in one level: operations, and bytes of weights."""

    flops: int
    weight_bytes: int


class Counting:
    """A model's work on structures whose leaves carry what it reads; `inner_carry` says whether inner nodes do too."""

    def __init__(self, model: ra.Model, *, inner_carry: bool = False) -> None:
        self._leaf = needed_products(model, leaf=True, carries=True)
        self._inner = needed_products(model, leaf=False, carries=inner_carry)

    def levels(self, trees: Sequence[Tree]) -> list[Work]:
        """Return the work of each level, the leaves first: a level is the nodes of one height.

        A product of a child's is counted once for each child, with the first of its parents: it is the same for all.
        """
        heights: dict[int, int] = {}
        first_parent: dict[int, int] = {}
        for node in nodes(trees):
            height = 1 + max((heights[id(child)] for child in node.children), default=-1)
            heights[id(node)] = height
            for child in node.children:
                first_parent[id(child)] = min(height, first_parent.get(id(child), height))
        count, children = Counter(heights.values()), Counter(first_parent.values())
        return [
            _work(self._inner if height else self._leaf, count[height], children[height])
            for height in sorted(count)
        ]


def least_microseconds(levels: Sequence[Work], ceilings: Ceilings) -> float:
    """Return the roofline of a batch with this work in its levels."""
    return sum(_nanoseconds(level, ceilings) for level in levels) / 1000


def _work(products: Sequence[Product], count: int, children: int) -> Work:
    flops = sum(product.flops * (children if product.per_child else count) for product in products)
    weights = {name: size for product in products for name, size in product.weights}
    return Work(flops, sum(weights.values()))


def _nanoseconds(work: Work, ceilings: Ceilings) -> float:
    """Return the least time of a level: GFLOP/s and GB/s are operations and bytes a nanosecond."""
    if not work.weight_bytes:
        return work.flops / ceilings.gflops
    bandwidth = ceilings.read_gbs(work.weight_bytes / ceilings.workers)
    return max(work.flops / ceilings.gflops, work.weight_bytes / bandwidth)
