"""The least time that a batch can take on a machine with given ceilings.

It is the sum over levels of the larger of (operations / peak) and (weight bytes / bandwidth of the cache that holds
each core's share of them). Products that wait for no child, as those with inputs, are one level, whatever node they are
of. The work is the model's products at each node that needs them: none is counted for padding, and activations, gates
and tables are not counted either.
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
    """A model's work on structures with inputs at the leaves; `inner_carry` says whether inner nodes do too."""

    def __init__(self, model: ra.Model, *, inner_carry: bool = False) -> None:
        inner = needed_products(model, leaf=False, carries=inner_carry)
        self._leaf = needed_products(model, leaf=True, carries=True)
        self._inputs = [product for product in inner if not product.recurrent]
        self._recurrent = [product for product in inner if product.recurrent]

    def levels(self, trees: Sequence[Tree]) -> list[Work]:
        """Return the work of each level: first what waits for no child, then the other products, height by height.

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
        inner, edges = count.total() - count[0], children.total()
        first = [*_times(self._leaf, count[0], 0), *_times(self._inputs, inner, edges)]
        above = [_times(self._recurrent, count[at], children[at]) for at in range(1, len(count))]
        return [_work(needed) for needed in (first, *above)]


def least_microseconds(levels: Sequence[Work], ceilings: Ceilings) -> float:
    """Return the roofline of a batch with this work in its levels."""
    return sum(_nanoseconds(level, ceilings) for level in levels) / 1000


def _times(products: Sequence[Product], count: int, children: int) -> list[tuple[Product, int]]:
    """Return products, each with how often so many nodes with so many children need it."""
    return [(product, children if product.per_child else count) for product in products]


def _work(needed: Sequence[tuple[Product, int]]) -> Work:
    flops = sum(product.flops * times for product, times in needed)
    weights = {name: size for product, times in needed if times for name, size in product.weights}
    return Work(flops, sum(weights.values()))


def _nanoseconds(work: Work, ceilings: Ceilings) -> float:
    """Return the least time of a level: GFLOP/s and GB/s are operations and bytes a nanosecond."""
    if not work.weight_bytes:
        return work.flops / ceilings.gflops
    bandwidth = ceilings.read_gbs(work.weight_bytes / ceilings.workers)
    return max(work.flops / ceilings.gflops, work.weight_bytes / bandwidth)
