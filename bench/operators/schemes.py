"""Two ways to find an element of a ragged tensor, and the arrays that each needs for an encoder layer.

The *sparse scheme* is that of sparse tensor compilers (CSF in TACO): a dimension of variable extent has, for each
position of all dimensions before it together, where its elements begin. The *dimension graph* is CoRa's (section 5.3,
Algorithm 1): extents depend on outer dimensions alone, so a dimension that others depend on has, for each of its own
indices, where its slice begins; all that lies between is multiplied. Both have the arrays of the loops that are fused,
which CoRa's prelude builds too (section 5.1): of each fused iteration the outer and the inner index, and of each outer
index the first iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.lengths import Lengths
from bench.operators.problems import Sizes

Index: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Dim: TypeAlias = int | None
"""A dimension's extent: a number, or None where it is the length of the sequence."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A ragged tensor: the dimension of sequences is `sequences`-th; those of None have its lengths as extent."""

    name: str
    dims: tuple[Dim, ...]
    sequences: int = 0


@dataclass(frozen=True, slots=True)
class Needs:
    """What a layer's operators need: tensors that are read or written, and how many loops over all rows are fused."""

    tensors: tuple[Tensor, ...]
    fused: int


def layer_needs(sizes: Sizes, sequences: int, *, shared: bool) -> Needs:
    """Return what an encoder layer needs, with the arrays of a tensor or a loop shared by its operators or not."""
    rows = Tensor("rows", (sequences, None, sizes.hidden))
    heads = Tensor("queries, keys, values", (3, sequences, None, sizes.hidden), 1)
    scores = Tensor("scores", (sequences, None, sizes.heads, None))
    if shared:
        return Needs((rows, heads, scores), 1)
    operators = (
        (rows, heads),  # projections
        (heads, heads, scores),
        (scores, scores),  # softmax
        (scores, heads, rows),  # weighted sum
        (rows, rows, rows),  # output, and what is added to it
        (rows, rows),  # norm
        (rows, rows),  # feed-forward
        (rows, rows, rows),
        (rows, rows),  # norm
    )
    return Needs(tuple(tensor for tensors in operators for tensor in tensors), len(operators))


def sparse_arrays(tensor: Tensor, lengths: Lengths) -> list[Index]:
    """Return, for each dimension of variable extent, where each position's elements begin, and where the last end."""
    # What is at a position is known by its sequence alone, so positions are counted, then extents repeated.
    found, sequence = [], np.zeros(1, np.int64)
    last = max(number for number, extent in enumerate(tensor.dims) if extent is None)
    for number, extent in enumerate(tensor.dims[:last]):
        if number == tensor.sequences:
            sequence = np.tile(np.arange(len(lengths)), len(sequence))
        elif extent is None:
            found.append(_begins(lengths[sequence]))
            sequence = np.repeat(sequence, lengths[sequence])
        else:
            sequence = np.repeat(sequence, extent)
    return [*found, _begins(lengths[sequence])]


def graph_arrays(tensor: Tensor, lengths: Lengths) -> list[Index]:
    """Return where each sequence's slice begins, in units of what all slices are multiples of, and the end."""
    variable = sum(extent is None for extent in tensor.dims)
    return [_begins(lengths.astype(np.int64) ** variable)]


def fusion_arrays(lengths: Lengths) -> list[Index]:
    """Return a fused loop's arrays: `f_fo` and `f_fi` (sum of lengths,), `f_oif` (sequences,)."""
    outer = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    first = _begins(lengths)[:-1]
    inner = (np.arange(len(outer)) - first[outer]).astype(np.int32)
    return [outer, inner, first]


def storage_arrays(
    needs: Needs, lengths: Lengths, scheme: Callable[[Tensor, Lengths], list[Index]]
) -> list[Index]:
    """Return all arrays of a layer's tensors under a scheme."""
    return [array for tensor in needs.tensors for array in scheme(tensor, lengths)]


def total_bytes(arrays: Sequence[Index]) -> int:
    """Return how many bytes they take."""
    return sum(array.nbytes for array in arrays)


def _begins(extents: NDArray[np.int64] | Lengths) -> Index:
    """Return where each begins when they stand one after another, and where the last ends."""
    begins = np.zeros(len(extents) + 1, np.int64)
    np.cumsum(extents, out=begins[1:])
    return begins
