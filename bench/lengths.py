"""Sequence lengths as in CoRa's experiments: drawn to the least, mean and largest length of its Table 3.

CoRa: Fegade, Chen, Gibbons, Mowry, "The CoRa Tensor Compiler: Compilation for Ragged Tensors with Minimal Padding",
MLSys 2022. The datasets themselves are not needed: what the compiled code sees of them is lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Lengths: TypeAlias = NDArray[np.int32]

_SPREAD = 4.0
"""The two parameters of the beta distribution together: lengths spread over the whole range, one hump or none."""
_SLICE = 256
"""From how many lengths, near each other in size, each length of a batch is drawn."""


@dataclass(frozen=True, slots=True)
class LengthSet:
    """A dataset's sequence lengths: the least, the mean and the largest."""

    least: int
    mean: int
    largest: int


LENGTH_SETS: dict[str, LengthSet] = {
    "cola": LengthSet(6, 13, 37),
    "mnli": LengthSet(9, 43, 128),
    "mrpc": LengthSet(21, 59, 102),
    "xnli": LengthSet(9, 70, 128),
    "wiki128": LengthSet(14, 117, 128),
    "squad": LengthSet(39, 192, 384),
    "race": LengthSet(80, 364, 512),
    "wiki512": LengthSet(12, 371, 512),
}
"""The sets of Table 3 by mean length; `wiki128` and `wiki512` are Wikipedia cut at 128 and at 512."""
ALL_SETS = LENGTH_SETS | {"random": LengthSet(1, 256, 512)}
"""Those, and lengths more uneven than any of theirs, to share between threads."""


def draw_batches(lengths: LengthSet, batch: int, count: int, seed: int) -> list[Lengths]:
    """Return so many batches of lengths (batch,), the same ones for the same seed; at most 256.

    A population with the set's least and largest length and, in expectation, its mean is sorted and cut into as many
    slices as a batch has sequences; each batch has one length of each slice, in random order. So every batch has the
    set's statistics, and none is lucky with its longest sequence, which is what padding costs.
    """
    if not 0 < count <= _SLICE:
        raise ValueError(f"between 1 and {_SLICE} batches can be drawn, not {count}")
    random = np.random.default_rng(seed)
    share = (lengths.mean - lengths.least) / (lengths.largest - lengths.least)
    population = random.beta(_SPREAD * share, _SPREAD * (1 - share), batch * _SLICE)
    population.sort()
    population[[0, -1]] = 0, 1
    found = np.rint(lengths.least + (lengths.largest - lengths.least) * population).astype(np.int32)
    slices = random.permuted(found.reshape(batch, _SLICE), axis=1)
    return [random.permutation(slices[:, number]) for number in range(count)]
