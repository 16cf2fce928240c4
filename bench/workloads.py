"""What is measured: models, sizes, and the batches of trees that each is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bench.models import MODELS
from bench.peers.job import Array, Cell, Job
from bench.trees import Tree, flatten, number_words, perfect_trees, unflatten
from cortex import ra

PERFECT_HEIGHT, PERFECT_VOCAB = 7, 1000
"""TreeFC's trees are perfect ones: 128 leaves, 255 nodes."""
WARM_BATCHES = 3


class TooFewTrees(Exception):
    """There are not enough trees for a batch to be timed and another to warm up with."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A cell, its hidden sizes, and whether its trees are perfect ones or a treebank's."""

    cell: Cell
    hidden: tuple[int, ...]
    perfect: bool = False


WORKLOADS: dict[str, Workload] = {
    each.cell.value: each
    for each in (
        Workload(Cell.TREE_FC, (256, 512), perfect=True),
        Workload(Cell.TREE_LSTM, (256, 512)),
        Workload(Cell.TREE_LSTM_RECURSIVE, (256, 512)),
        Workload(Cell.ANOTHER_CELL, (256, 512)),
        Workload(Cell.MV_RNN, (64, 128)),
    )
}


@dataclass(frozen=True, slots=True)
class Batches:
    """Of one size: the numbers of the trees in each batch to be timed, and in others to warm up with."""

    size: int
    timed: tuple[range, ...]
    warm: tuple[range, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A workload of one size, ready to be given to peers."""

    workload: Workload
    model: ra.Model
    job: Job
    trees: tuple[Tree, ...]
    batches: tuple[Batches, ...]

    def of(self, batch: range) -> list[Tree]:
        """Return a batch's trees."""
        return [self.trees[number] for number in batch]


def deal(available: int, sizes: Sequence[int], rounds: int) -> tuple[Batches, ...]:
    """Share out so many trees: for each size up to `rounds` batches from the first tree on.

    The others, from the end, are to warm up with. Raises `TooFewTrees` where a size has no batch of either kind.
    """
    return tuple(_deal(available, size, rounds) for size in sizes)


def make_case(
    workload: Workload,
    hidden: int,
    treebank: Sequence[Tree],
    sizes: Sequence[int],
    *,
    rounds: int,
    threads: int,
    seed: int = 0,
) -> Case:
    """Draw parameters and deal out the trees."""
    if workload.perfect:
        count = max(sizes) * (rounds + WARM_BATCHES)
        trees = perfect_trees(count, PERFECT_HEIGHT, PERFECT_VOCAB, seed)
    else:
        trees = [unflatten(flatten(tree)) for tree in treebank]
    batches = deal(len(trees), sizes, rounds)
    used = sorted({number for each in batches for part in (*each.timed, *each.warm) for number in part})
    vocab = number_words([trees[number] for number in used])
    kept, place = [trees[number] for number in used], {number: at for at, number in enumerate(used)}
    model = MODELS[workload.cell].build(hidden, vocab)
    params: dict[str, Array] = {
        name: np.ascontiguousarray(array, np.float32) for name, array in model.init_params(seed=seed).items()
    }
    own = tuple(
        Batches(each.size, _renumber(each.timed, place), _renumber(each.warm, place)) for each in batches
    )
    return Case(workload, model, Job(workload.cell, hidden, params, threads), tuple(kept), own)


def _deal(available: int, size: int, rounds: int) -> Batches:
    timed = min(rounds, available // size - 1)
    if size < 1 or timed < 1:
        raise TooFewTrees(
            f"batches of {size} need {2 * size} trees, one batch to warm up; there are {available}"
        )
    warm = min(WARM_BATCHES, available // size - timed)
    ends = range(available, available - (warm + 1) * size, -size)
    return Batches(
        size,
        tuple(range(i * size, (i + 1) * size) for i in range(timed)),
        tuple(range(begin, end) for end, begin in pairwise(ends)),
    )


def _renumber(batches: Sequence[range], place: dict[int, int]) -> tuple[range, ...]:
    """Return batches by the places of their trees among those kept, which stand as closely as before."""
    return tuple(range(place[batch[0]], place[batch[0]] + len(batch)) for batch in batches)
