"""The roofline of small trees, by hand."""

import pytest

from bench.ceilings import Bandwidth, Ceilings, measure_ceilings, points
from bench.models import MODELS
from bench.peers.job import Cell
from bench.roofline import Counting, Work, least_microseconds
from bench.trees import Tree, grids, sequences
from ragged.machine import this_machine

H = 8
SQUARE, BYTES = 2 * H * H, 4 * H * H
# Two workers, 100 GFLOP/s; 50 GB/s for shares up to 1000 bytes, 10 GB/s for larger ones.
CEILINGS = Ceilings(2, 100.0, (Bandwidth("near", 500, 1000, 50.0), Bandwidth("far", 5000, None, 10.0)))


def test_levels_are_heights():
    # Heights: five leaves, two forks of leaves, and a root over one fork and a leaf, one over the other.
    fork, other = Tree([Tree(word=0), Tree(word=1)]), Tree([Tree(word=2), Tree(word=3)])
    trees = [Tree([fork, Tree(word=4)]), other]
    levels = Counting(MODELS[Cell.TREE_LSTM].build(H, 10)).levels(trees)
    of_fork = 3 * SQUARE + 2 * SQUARE
    assert levels == [
        Work(5 * 3 * SQUARE, 3 * BYTES),
        Work(2 * of_fork, 4 * BYTES),
        Work(of_fork, 4 * BYTES),
    ]


def test_what_parents_share_is_counted_once():
    # A grid of four: the corner is a child of all others, of two at height 1.
    levels = Counting(MODELS[Cell.GATED_DAG].build(H, 10), inner_carry=True).levels(grids(1, 2, 10, seed=0))
    assert levels == [
        Work(0, 0),
        Work(2 * 2 * SQUARE + SQUARE, 3 * BYTES),
        Work(2 * SQUARE + 2 * SQUARE, 3 * BYTES),
    ]


def test_inputs_of_all_steps_are_one_level():
    # Two sequences of three steps; at the first a GRU has nothing to reset.
    levels = Counting(MODELS[Cell.GRU].build(H, 10), inner_carry=True).levels(sequences(2, 3, 10, seed=0))
    step = Work(2 * 3 * SQUARE, 3 * BYTES)
    assert levels == [Work(2 * 2 * SQUARE + 4 * 3 * SQUARE, 3 * BYTES), step, step]


@pytest.mark.parametrize(
    ("work", "nanoseconds"),
    [
        (Work(1000, 0), 10),  # operations alone
        (Work(10_000, 1000), 100),  # operations take longer: reading takes 20
        (Work(1000, 2000), 40),  # each reads 1000 bytes, at 50 GB/s together
        (Work(1000, 2002), 200.2),  # each reads 1001 bytes, which the nearer cache does not hold
    ],
)
def test_a_level_takes_the_longer_of_both(work, nanoseconds):
    assert least_microseconds([work], CEILINGS) == pytest.approx(nanoseconds / 1000)
    assert least_microseconds([work, work], CEILINGS) == pytest.approx(2 * nanoseconds / 1000)


def test_the_highest_ceilings_are_kept():
    other = Ceilings(2, 90.0, (Bandwidth("near", 500, 1000, 60.0), Bandwidth("far", 5000, None, 9.0)))
    best = CEILINGS.best(other)
    assert (best.gflops, [each.gbs for each in best.bandwidths]) == (100.0, [60.0, 10.0])
    assert other.best(CEILINGS) == best


def test_ceilings_are_measured():
    found = measure_ceilings(1, runs=1)
    assert found.workers == 1
    assert 0.1 < found.gflops < 10_000
    assert [each.share for each in found.bandwidths] == sorted(each.share for each in found.bandwidths)
    assert all(0.01 < each.gbs < 100_000 for each in found.bandwidths)


def test_every_share_has_a_point():
    for workers in (1, 2, 64):
        *small, (_, share_of_memory, last) = points(workers)
        assert last is None
        assert share_of_memory * workers > 7 * this_machine().l3_bytes  # or the cache would hold much of it
        limits = [up_to for _, _, up_to in small]
        assert limits == sorted(limits)
        assert all(share <= up_to for _, share, up_to in small)
