"""The work that lengths mean: an encoder layer's operations and memory, ragged, padded a little, padded in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from bench.lengths import Lengths
from bench.operators.problems import Operator, Problem, Sizes

Flops: TypeAlias = dict[str, int]

_FLOAT = 4


@dataclass(frozen=True, slots=True)
class Extent:
    """How far a layer's loops go over a batch: rows, and pairs of a row and a row of the same sequence."""

    rows: int
    pairs: int


def ragged_extent(lengths: Lengths, bulk: int = 1, each: int = 1) -> Extent:
    """Return the extent with all rows together padded to a multiple of `bulk`, each sequence's pairs of `each`.

    1 and 1: nothing is padded. Loops over rows of all sequences are one fused loop, so they are padded once.
    """
    long = lengths.astype(np.int64)
    sides = -(-long // each) * each
    return Extent(-(-int(long.sum()) // bulk) * bulk, int((sides * sides).sum()))


def masked_extent(lengths: Lengths) -> Extent:
    """Return the extent without padding where a row is paired with itself and those before it."""
    long = lengths.astype(np.int64)
    return Extent(int(long.sum()), int((long * (long + 1) // 2).sum()))


def padded_extent(lengths: Lengths) -> Extent:
    """Return the extent with every sequence as long as the longest of the batch."""
    count, largest = len(lengths), int(lengths.max())
    return Extent(count * largest, count * largest**2)


def layer_flops(sizes: Sizes, extent: Extent) -> Flops:
    """Return what a layer's products take, by operator; a multiply-add is two operations.

    Softmax, normalisation and activations are under a hundredth of it and not counted.
    """
    hidden, rows, pairs = sizes.hidden, extent.rows, extent.pairs
    return {
        "projections": 2 * rows * hidden * 3 * hidden,
        "scores": 2 * pairs * hidden,
        "weighted sum": 2 * pairs * hidden,
        "output": 2 * rows * hidden * hidden,
        "feed-forward": 4 * rows * hidden * sizes.ff,
    }


def activation_bytes(sizes: Sizes, extent: Extent, *, scores: bool = True) -> int:
    """Return the bytes of all tensors between a layer's input and its output, the output among them, in float32.

    For each row: queries, keys and values; what heads have seen; the output product; two norms; two feed-forward
    products. For each pair and head, where `scores` are materialised, the score and its softmax.
    """
    hidden = sizes.hidden
    row = 3 * hidden + 2 * hidden + 2 * hidden + sizes.ff + hidden
    return _FLOAT * (extent.rows * row + (2 * extent.pairs * sizes.heads if scores else 0))


def useful_flops(problem: Problem, number: int) -> int:
    """Return the operations of a batch's products, nothing padded; 0 where there are none."""
    shape, sizes = problem.batches[number].astype(np.int64), problem.sizes
    match problem.operator:
        case Operator.VGEMM:
            return int(2 * shape.prod(axis=1).sum())
        case Operator.TRMM:
            n, m = problem.triangle
            return n * (n + 1) * m
        case Operator.SOFTMAX | Operator.LAYER_NORM | Operator.TRADD | Operator.TRMUL:
            return 0
        case Operator.LINEAR:
            return int(2 * shape.sum()) * sizes.hidden * sizes.ff
        case Operator.DECODER_LAYER:
            rows, pairs = int(shape.sum()), int((shape * np.roll(shape, 1)).sum())
            own = layer_flops(sizes, masked_extent(problem.batches[number]))
            crossed = layer_flops(sizes, Extent(rows, pairs))  # as many rows of memory as of sequences
            return sum(own.values()) + sum(crossed.values()) - crossed["feed-forward"]
        case Operator.ATTENTION | Operator.MASKED_ATTENTION | Operator.ENCODER_LAYER:
            masked = problem.operator is Operator.MASKED_ATTENTION
            extent = (masked_extent if masked else ragged_extent)(problem.batches[number])
            flops = layer_flops(sizes, extent)
            whole = problem.operator is Operator.ENCODER_LAYER
            return sum(flops.values()) - (0 if whole else flops["feed-forward"])
