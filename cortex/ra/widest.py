"""How many nodes a batch has at most where nobody says so."""

from __future__ import annotations

from math import prod

from cortex.ra.base import Tensor
from cortex.ra.expr import DenseReduce, Read, subexpressions
from cortex.ra.model import Model
from cortex.ra.tensor import Compute, InputTensor

CACHE = 1 << 21
"""The bytes of a core's second cache."""
NODES = 96
"""So many nodes are whole tiles of up to sixteen rows for two cores, and of six for four."""


def widest_batch(model: Model) -> int:
    """Return a multiple of `NODES`: as many nodes as the cache has room for all that is computed at, and enough.

    Enough are `NODES` for each time that the weights fill the cache: each batch reads them all once more.
    """
    made = sum(_bytes(compute) for compute in model.computes)
    read = sum(_bytes(weights) for weights in _multiplied(model))
    return NODES * max(1, -(-read // CACHE), CACHE // (NODES * max(1, made)))


def _multiplied(model: Model) -> set[InputTensor]:
    """Return the parameters that sums of products read."""
    sums = (
        part
        for compute in model.computes
        if isinstance(compute, Compute)
        for part in subexpressions(compute.body)
        if isinstance(part, DenseReduce)
    )
    reads = (part.tensor for each in sums for part in subexpressions(each.body) if isinstance(part, Read))
    return {tensor for tensor in reads if isinstance(tensor, InputTensor)}


def _bytes(tensor: Tensor) -> int:
    """Return the bytes that a tensor has at a node, or if it has none in all."""
    return prod(extent for extent in tensor.shape if isinstance(extent, int)) * tensor.dtype.bytes
