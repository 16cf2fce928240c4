"""Operations and memory, counted by hand."""

import numpy as np
import pytest

from bench.operators.problems import Operator, Problem, Sizes
from bench.operators.work import (
    Extent,
    activation_bytes,
    layer_flops,
    padded_extent,
    ragged_extent,
    useful_flops,
)

LENGTHS = np.array([3, 1, 4], np.int32)
SIZES = Sizes(hidden=8, heads=2, ff=16)


@pytest.mark.parametrize(
    ("extent", "rows", "pairs"),
    [
        (ragged_extent(LENGTHS), 8, 9 + 1 + 16),
        (ragged_extent(LENGTHS, 5, 2), 10, 16 + 4 + 16),
        (padded_extent(LENGTHS), 12, 48),
        (ragged_extent(np.full(32, 50_000, np.int32)), 1_600_000, 80_000_000_000),
    ],
)
def test_extents(extent, rows, pairs):
    assert extent == Extent(rows, pairs)


def test_operations_of_a_layer():
    assert layer_flops(SIZES, Extent(10, 30)) == {
        "projections": 2 * 10 * 8 * 24,
        "scores": 2 * 30 * 8,
        "weighted sum": 2 * 30 * 8,
        "output": 2 * 10 * 8 * 8,
        "feed-forward": 2 * (2 * 10 * 8 * 16),
    }


def test_memory_of_a_layer():
    one_row = 3 * 8 + 8 + 8 + 8 + 16 + 8 + 8  # q, k, v; heads; output; norm; two feed-forward products; norm
    assert activation_bytes(SIZES, Extent(10, 30), scores=False) == 4 * 10 * one_row
    assert activation_bytes(SIZES, Extent(10, 30)) == 4 * (10 * one_row + 2 * 2 * 30)


@pytest.mark.parametrize(
    ("operator", "shape", "flops"),
    [
        (Operator.VGEMM, [[2, 3, 4], [5, 6, 7]], 2 * (24 + 210)),
        (Operator.TRMM, [3], 2 * (1 + 2 + 3) * 3),
        (Operator.TRMM, [[3, 2]], 2 * (1 + 2 + 3) * 2),
        (
            Operator.DECODER_LAYER,
            [3, 1, 4],  # attend to 4, 3 and 1
            2 * (2 * 8 * 8 * 32) + 4 * (6 + 1 + 10) * 8 + 4 * (12 + 3 + 4) * 8 + 4 * 8 * 8 * 16,
        ),
        (Operator.SOFTMAX, [3, 1, 4], 0),
        (Operator.LAYER_NORM, [3, 1, 4], 0),
        (Operator.LINEAR, [3, 1, 4], 2 * 8 * 8 * 16),
        (Operator.ATTENTION, [3, 1, 4], 2 * 8 * 8 * 32 + 4 * 26 * 8),
        (Operator.MASKED_ATTENTION, [3, 1, 4], 2 * 8 * 8 * 32 + 4 * (6 + 1 + 10) * 8),
        (Operator.TRADD, [3], 0),
        (Operator.ENCODER_LAYER, [3, 1, 4], 2 * 8 * 8 * 32 + 4 * 26 * 8 + 4 * 8 * 8 * 16),
    ],
)
def test_useful_operations(operator, shape, flops):
    assert useful_flops(Problem(operator, SIZES, (np.array(shape, np.int32),), 1, 0), 0) == flops
