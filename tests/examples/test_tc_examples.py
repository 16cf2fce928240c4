"""The texts of examples/tc, run on small sizes against NumPy."""

from pathlib import Path

import numpy as np
import pytest

from bench.tc.formulas import FORMULAS
from ragged import tc

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tc"
RNG = np.random.default_rng(0)
FUNCTIONS = {}
for path in sorted(FOLDER.glob("*.tc")):
    lib = tc.define(path.read_text(encoding="utf-8"), name=path.name)
    FUNCTIONS.update({name: lib[name] for name in lib.functions})


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


AT = RNG.integers(0, 9, (3, 5)).astype(np.int32)
CASES = {
    "tmm": [floats(5, 7), floats(3, 7)],
    "tbmm": [floats(2, 3, 4), floats(2, 5, 4)],
    "tensordot": [floats(2, 3, 2, 4, 3), floats(2, 2, 4, 4, 3)],
    "kronecker1": [floats(3, 4), floats(2, 3, 2, 4)],
    "kronecker2": [floats(3, 2), floats(2, 3, 2, 4)],
    "kronecker3": [floats(2, 3), floats(2, 3, 2, 4)],
    "kronecker": [floats(2, 3), floats(3, 2), floats(2, 4), floats(2, 3, 2, 4)],
    "group_convolution": [floats(2, 3, 2, 6, 7), floats(3, 4, 2, 3, 3), floats(3, 4)],
    "strided_convolution": [floats(2, 3, 8, 7), floats(4, 3, 3, 2)],
    "masked_convolution": [floats(2, 3, 5, 4), floats(4, 3, 3, 3)],
    "max_pooling": [floats(2, 3, 7, 6)],
    "lookup": [floats(9, 4), AT],
    "two_lookups": [floats(9, 4), AT, floats(12, 4), AT[:, :4].copy()],
    "mlp1": [floats(5, 7), floats(3, 7), floats(3)],
    "c3": [floats(5, 7), floats(3, 7)],
    "mlp3": [floats(5, 8), floats(6, 8), floats(6), floats(4, 6), floats(4), floats(2, 4), floats(2)],
    "wavenet_block": [
        3, floats(2, 4, 9), floats(5, 4, 2), floats(5), floats(5, 4, 2), floats(5), floats(4, 5), floats(4),
        floats(6, 5), floats(6),
    ],
    "moments": [floats(5, 9)],
    "layer_norm": [floats(5, 9), floats(9), floats(9)],
    "group_norm": [floats(2, 3, 2, 4, 3), floats(3, 2), floats(3, 2)],
    "softmax": [floats(4, 6)],
    "distances": [floats(5, 7), floats(3, 7)],
    "additive_scores": [floats(2, 5, 7), floats(2, 3, 7), floats(7)],
}  # fmt: skip


def test_every_function_is_run():
    assert set(CASES) == set(FUNCTIONS) == set(FORMULAS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_against_numpy(name):
    given = CASES[name]
    wanted = FORMULAS[name](np, *given)
    found = FUNCTIONS[name].compile(schedule=None)(*given)  # the default schedule has its own tests
    if not isinstance(found, dict):
        found, wanted = {"": found}, (wanted,)
    for each, value in zip(found.values(), wanted, strict=True):
        assert each.shape == value.shape
        np.testing.assert_allclose(each, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(CASES))
def test_only_rows_that_data_name_are_checked_in_kernels(name):
    unproven = [
        line for line in FUNCTIONS[name].show("checks").splitlines()[1:] if not line.startswith("proven")
    ]
    assert all(line.startswith("checked for each element: 0 <= I") for line in unproven)
    assert len(unproven) == {"lookup": 1, "two_lookups": 2}.get(name, 0)
