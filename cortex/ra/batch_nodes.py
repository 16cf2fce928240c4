"""The default maximum number of nodes of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from cortex.ra.base import ModelTensor
from cortex.ra.expr import DenseReduce, Expr, Read
from cortex.ra.lower.inputs import independent
from cortex.ra.model import Model
from cortex.ra.tensor import Compute, InputTensor
from cortex.ra.walk import subexpressions
from ragged.errors import Location, ScheduleError

CACHE = 1 << 21
"""The bytes of a core's second-level cache."""
NODES = 96
"""The granularity of batches, in nodes: whole tiles of up to sixteen rows for two cores, and of six for four."""
WORK = 40 << 20
"""Bytes of weights, each read once for each node, beyond which the end of a batch costs little in comparison."""


def default_max_batch_nodes(model: Model) -> int:
    """Return the default limit: a multiple of `NODES` for which the temporaries of a batch fit in the cache.

    At least `NODES` for each time that the weights of the recursion fill the cache, because each batch reads them once.
    At most as many as read `WORK` bytes of weights: larger batches take more memory and hardly less time.
    """
    made = sum(_bytes(compute) for compute in model.computes)
    read = sum(_bytes(weights) for weights in _multiplied(model))
    cached = CACHE // (NODES * max(1, made))
    return NODES * max(1, -(-read // CACHE), min(cached, -(-WORK // (NODES * read))) if read else cached)


def _multiplied(model: Model) -> set[InputTensor]:
    """Return the parameters that reductions of the recursion read in full; tables that are looked up do not count."""
    before = independent(model)
    sums = (
        part
        for compute in model.computes
        if isinstance(compute, Compute) and compute not in before
        for part in subexpressions(compute.body)
        if isinstance(part, DenseReduce)
    )
    reads = (part for each in sums for part in subexpressions(each.body) if isinstance(part, Read))
    return {
        read.tensor for read in reads if isinstance(read.tensor, InputTensor) and not _looks_up(read.indices)
    }


def _looks_up(indices: Iterable[object]) -> bool:
    exprs = (index for index in indices if isinstance(index, Expr))
    return any(isinstance(part, Read) for index in exprs for part in subexpressions(index))


def _bytes(tensor: ModelTensor) -> int:
    """Return the bytes of a tensor at one node, or in all if it has no dimension N."""
    return prod(extent for extent in tensor.shape if isinstance(extent, int)) * tensor.dtype.bytes


def check_max_batch_nodes(max_batch_nodes: object, at: Location | None) -> None:
    """Raise a `ScheduleError` unless `max_batch_nodes` is a number of nodes, or None."""
    if max_batch_nodes is not None and (type(max_batch_nodes) is not int or max_batch_nodes < 1):
        raise ScheduleError(
            f"dynamic_batch: max_batch_nodes={max_batch_nodes!r} is no number of nodes",
            at=at,
            fix="a whole number from 1 on, or None for any number",
        )
