"""What is measured: models, sizes, and the batches of trees that each is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import assert_never

import numpy as np

from bench.models import MODELS
from bench.peers.job import SEQUENTIAL, Array, Cell, Job
from bench.trees import (
    Tree,
    flatten,
    grids,
    number_words,
    other_words,
    perfect_trees,
    sequences,
    ternary_trees,
    unflatten,
)
from cortex import ra

PERFECT_HEIGHT, GRID_SIDE, STEPS, VOCAB = 7, 10, 100, 1000
"""TreeFC's trees are perfect ones: 128 leaves, 255 nodes. Grids have 100 nodes, sequences 100 steps. Words are drawn
from so many."""
WARM_BATCHES = 3
_GRID_DEVIATION = 2
"""The deviation of what nodes of grids carry: with 1, as steps of sequences have it, sums over three children lose more
than 1e-5 in float32 within 19 levels, in any implementation."""
_TIMED = 100
"""How many structures are timed in batches of a size, or else one batch: evaluating them in float64 takes long."""


class Structures(Enum):
    """What a workload's structures are: a treebank's, or drawn."""

    TREEBANK = auto()
    PERFECT = auto()
    TERNARY = auto()
    GRIDS = auto()
    SEQUENCES = auto()


@dataclass(frozen=True, slots=True)
class Workload:
    """A cell, its hidden sizes, and what its structures are."""

    cell: Cell
    hidden: tuple[int, ...]
    structures: Structures = Structures.TREEBANK


WORKLOADS: dict[str, Workload] = {
    each.cell.value: each
    for each in (
        Workload(Cell.TREE_FC, (256, 512), Structures.PERFECT),
        Workload(Cell.DAG_RNN, (256, 512), Structures.GRIDS),
        Workload(Cell.TREE_GRU_RECURSIVE, (256, 512)),
        Workload(Cell.TREE_LSTM_RECURSIVE, (256, 512)),
        Workload(Cell.TREE_LSTM, (256, 512)),
        Workload(Cell.MV_RNN, (64, 128)),
        Workload(Cell.ANOTHER_CELL, (256, 512)),
        Workload(Cell.GATED_DAG, (256, 512), Structures.GRIDS),
        Workload(Cell.TERNARY_LSTM, (256, 512), Structures.TERNARY),
        *(Workload(cell, (256, 512), Structures.SEQUENCES) for cell in SEQUENTIAL),
    )
}

RECURSIVE = tuple(name for name, each in WORKLOADS.items() if each.cell not in SEQUENTIAL)
"""The workloads over trees and DAGs, which the project's goals are for."""


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
    """Share out so many trees: for each size up to `rounds` batches, of few trees in all, from the first tree on.

    The others, from the end, are to warm up with. There are trees enough for a batch of either kind of each size.
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
    """Draw parameters, and trees where they are not the treebank's; deal out the trees.

    A treebank that is too small for a batch to be timed and another to warm up with gives its trees again, their words
    drawn anew.
    """
    counts = [size * (_timed(size, rounds) + WARM_BATCHES) for size in sizes]
    trees = _structures(workload.structures, 2 * max(sizes), max(counts), treebank, seed)
    batches = deal(len(trees), sizes, rounds)
    used = sorted({number for each in batches for part in (*each.timed, *each.warm) for number in part})
    vocab = number_words([trees[number] for number in used])
    kept, place = [trees[number] for number in used], {number: at for at, number in enumerate(used)}
    kind = MODELS[workload.cell]
    model = kind.build(hidden, vocab)
    params: dict[str, Array] = {
        name: np.ascontiguousarray(array, np.float32) for name, array in model.init_params(seed=seed).items()
    }
    random = np.random.default_rng(seed)
    deviation = np.float32(_GRID_DEVIATION if workload.structures is Structures.GRIDS else 1)
    payloads: dict[str, Array] = {
        name: deviation * random.standard_normal((vocab, hidden), np.float32) for name in kind.payloads
    }
    own = tuple(
        Batches(each.size, _renumber(each.timed, place), _renumber(each.warm, place)) for each in batches
    )
    job = Job(workload.cell, hidden, params, threads, payloads)
    kept = [unflatten(flatten(tree), payloads) for tree in kept]
    return Case(workload, model, job, tuple(kept), own)


def _structures(kind: Structures, least: int, count: int, treebank: Sequence[Tree], seed: int) -> list[Tree]:
    """Return new structures: `count` drawn ones, or the treebank's, and if they are fewer than `least` some again."""
    match kind:
        case Structures.TREEBANK:
            trees = [unflatten(flatten(tree)) for tree in treebank]
            return trees + other_words(trees, max(0, least - len(trees)), seed)
        case Structures.PERFECT:
            return perfect_trees(count, PERFECT_HEIGHT, VOCAB, seed)
        case Structures.TERNARY:
            return ternary_trees(count, VOCAB, seed)
        case Structures.GRIDS:
            return grids(count, GRID_SIDE, VOCAB, seed)
        case Structures.SEQUENCES:
            return sequences(count, STEPS, VOCAB, seed)
        case _:
            assert_never(kind)


def _deal(available: int, size: int, rounds: int) -> Batches:
    timed = min(_timed(size, rounds), available // size - 1)
    assert timed >= 1, "one batch at least"
    warm = min(WARM_BATCHES, available // size - timed)
    ends = range(available, available - (warm + 1) * size, -size)
    return Batches(
        size,
        tuple(range(i * size, (i + 1) * size) for i in range(timed)),
        tuple(range(begin, end) for end, begin in pairwise(ends)),
    )


def _timed(size: int, rounds: int) -> int:
    """Return how many batches of a size are timed, if there are trees enough."""
    return min(rounds, max(1, _TIMED // size))


def _renumber(batches: Sequence[range], place: dict[int, int]) -> tuple[range, ...]:
    """Return batches by the places of their trees among those kept, which stand as closely as before."""
    return tuple(range(place[batch[0]], place[batch[0]] + len(batch)) for batch in batches)
