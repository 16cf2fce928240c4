"""Slices of columns are fused with iterations only where each iteration reads a matrix of its own."""

import pytest

from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.parser import parse
from ragged.ir.sites import sites
from ragged.ir.stmt import Alloc
from ragged.processors import PROCESSORS

DENSE = """
program("dense")
T: call()
X: payload(float32[{rows}, 256], align=4)
W: parameter(float32[256, 256])
Y: output(float32[{rows}, 256])
with kernel:
    for t in parallel({rows}):
        for h in serial(256):
            Y[t, h] = 0.0
            for k in serial(256):
                Y[t, h] += X[t, k] * W[h, k]
"""


@pytest.mark.parametrize("rows", ["T", 1024, 48])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_share_a_matrix_are_tiled_whether_their_number_is_known_or_not(rows, threads):
    done = DefaultSchedule(PROCESSORS["znver4"], threads)(parse(DENSE.format(rows=rows)))
    (record,) = (each for each in done.rules if each.rule == "fuse_slices")
    assert not record.applied
    tiles = [site.stmt.buffer.shape for site in sites(done.program) if isinstance(site.stmt, Alloc)]
    assert max(shape[0].value for shape in tiles if len(shape) == 2) >= 4, "rows of a tile share loads of W"
