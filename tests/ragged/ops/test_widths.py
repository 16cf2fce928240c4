"""Widths of panels, tiles and vectors follow the machine that an operator is compiled for; no bit depends on them."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import ragged
from ragged import ops
from ragged.ops import compiled as kept
from ragged.ops.attend import queries_per_tile
from ragged.ops.compiled import Options
from tests.ragged.ops.batches import normal, rows, weights

SIZES = {
    "skylake-avx512": (64, 32, 32, 16),
    "x86-64-v3": (16, 8, 16, 8),
    "neoverse-v1": (16, 8, 16, 4),
    "neoverse-v1 -vector-width=256": (32, 16, 32, 8),
    "x86-64": (8, 4, 8, 4),
}
"""For each processor columns of a panel in float32 and in float64, queries of a tile, and floats of a vector."""


@pytest.mark.parametrize("name", SIZES)
def test_widths_are_those_of_the_target(name):
    own = Options(target=f"llvm -mcpu={name}")
    found = own.panel("float32"), own.panel("float64"), queries_per_tile(own), own.lanes("float32")
    assert found == SIZES[name]
    assert own.panel("float16") == own.panel("bfloat16") == own.panel("float32"), (
        "they are computed in float32"
    )


def test_panels_have_the_vectors_of_a_tile_that_is_given():
    options = ragged.ScheduleOptions(tile=(3, 1))
    assert Options(target="llvm -mcpu=skylake-avx512", options=options).panel("float32") == 16


def _called(layer, *arrays):
    layer.load_state_dict(weights(layer.shapes))
    return layer(*arrays)


X = rows([0, 3, 50, 33], 24)
HEADS = rows([70, 0, 3], 2, 12)
LOWER = normal(0, 67, 67)
CALLS = {
    "vgemm": lambda: ops.vgemm([normal(k, n, 37) for k, n in enumerate((5, 40))], [normal(9, 37, 83)] * 2),
    "trmm": lambda: ops.trmm(LOWER, normal(1, 67, 130), threads=1),
    "trmm by blocks": lambda: ops.trmm(LOWER, normal(1, 67, 130), threads=2),
    "tradd": lambda: ops.tradd(ops.triangle(LOWER), ops.triangle(LOWER)),
    "softmax": lambda: ops.softmax(X),
    "attention in a window": lambda: ops.scaled_dot_product_attention(HEADS, HEADS, HEADS, window=(9, 4)),
    "encoder layer": lambda: _called(ops.TransformerEncoderLayer(24, 2, 17, causal=True), X),
}
"""Calls of several panels, tiles and vectors, with remainders."""


def _bits(result):
    return (result.values if isinstance(result, ragged.RaggedArray) else np.asarray(result)).tobytes()


@pytest.mark.parametrize("name", CALLS)
def test_results_have_the_same_bits_for_all_widths(name):
    """This machine's code of the programs for other machines."""
    found = set()
    for target in ("skylake-avx512", "x86-64-v3", "x86-64"):
        machine = Options(target=f"llvm -mcpu={target}").machine
        with patch.object(kept.Options, "machine", machine), patch.object(kept, "_kept", {}):
            found.add(_bits(CALLS[name]()))
    assert len(found) == 1
