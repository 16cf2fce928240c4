"""Lengths have the statistics that the paper gives, in every batch and the same ones in every run."""

import numpy as np
import pytest

from bench.lengths import LENGTH_SETS, draw_batches


@pytest.mark.parametrize("batch", [8, 32, 128])
@pytest.mark.parametrize("name", LENGTH_SETS)
def test_batches_have_the_statistics_of_their_set(name, batch):
    wanted = LENGTH_SETS[name]
    batches = draw_batches(wanted, batch, 256, seed=0)
    population = np.concatenate(batches)
    assert (population.min(), population.max()) == (wanted.least, wanted.largest)
    assert population.mean() == pytest.approx(wanted.mean, rel=0.03)
    for lengths in batches:
        assert (lengths.shape, lengths.dtype) == ((batch,), np.int32)
        assert lengths.mean() == pytest.approx(wanted.mean, rel=0.13 if batch == 8 else 0.05)


def test_the_sets_are_those_of_the_paper():
    """Table 3 of CoRa: least, mean and largest."""
    found = {name: (each.least, each.mean, each.largest) for name, each in LENGTH_SETS.items()}
    assert found == {
        "race": (80, 364, 512),
        "wiki512": (12, 371, 512),
        "squad": (39, 192, 384),
        "wiki128": (14, 117, 128),
        "mnli": (9, 43, 128),
        "xnli": (9, 70, 128),
        "mrpc": (21, 59, 102),
        "cola": (6, 13, 37),
    }


def test_draws_are_the_same_for_the_same_seed():
    wanted = LENGTH_SETS["mnli"]
    first, again, other = (draw_batches(wanted, 32, 3, seed) for seed in (0, 0, 1))
    assert all(np.array_equal(*pair) for pair in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], np.sort(first[0]))


@pytest.mark.parametrize("count", [0, 257])
def test_how_many_batches_there_are(count):
    with pytest.raises(ValueError, match=f"between 1 and 256 batches can be drawn, not {count}"):
        draw_batches(LENGTH_SETS["cola"], 32, count, seed=0)
