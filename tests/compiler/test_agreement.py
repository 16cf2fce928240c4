"""The measure of error."""

import math

import numpy as np
import pytest

from cortex.compiler.agreement import relative_error


@pytest.mark.parametrize(
    ("result", "expected", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([0.5], [0.25], 0.25),  # below one, the difference itself
        ([99.0, 0.0], [100.0, 0.0], 0.01),
        ([0.0, -100.0], [1.0, -100.0], 0.01),  # one measure for all
        ([], [], 0.0),
        ([math.nan, 0.0], [0.0, 0.0], math.inf),
        ([0.0], [math.nan], math.inf),
        ([math.inf], [math.inf], math.inf),
        ([math.inf], [1.0], math.inf),
        ([1.0], [1.0, 1.0], math.inf),
    ],
)
def test_relative_error(result, expected, error):
    assert relative_error(np.array(result, np.float32), np.array(expected)) == pytest.approx(error)
