"""Sums of products round once."""

import numpy as np

from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.verify import verify
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from tests.ragged.transform.programs import MATVEC, matvec_data


def test_text_and_rounding():
    program = fuse_multiply_add(parse(MATVEC)).program
    verify(program)
    assert "= fma(U[i, j], v[n, j], t[n, i])" in str(program)
    sizes, arrays = matvec_data(3, seed=1)
    total = np.zeros((3, 8), np.float32)
    for j in range(6):
        product = arrays["U"][:, j].astype(np.float64) * arrays["v"][:, j, None].astype(np.float64)
        total = (product + total).astype(
            np.float32
        )  # exact in float64 but for the last bit, which rounds away
    got = interpret(program, sizes, arrays)["t"]
    np.testing.assert_allclose(got, total, rtol=2e-7)


def test_other_sums_stay():
    for value in ("U[i, j] + v[n, j]", "max(U[i, j], v[n, j])"):
        text = MATVEC.replace("U[i, j] * v[n, j]", value)
        assert str(fuse_multiply_add(parse(text)).program) == str(parse(text))
