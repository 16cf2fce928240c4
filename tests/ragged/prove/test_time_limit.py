"""A question for which the solver does not count its effort ends all the same, and what it was about is right."""

import time

import numpy as np

import ragged
from ragged.prove import query


def test_places_in_four_dimensions_of_one_length(monkeypatch):
    monkeypatch.setattr(query, "_TIMEOUT_MS", 200)
    batch = ragged.dim("batch")
    first, others = (ragged.length_fn(name, over=batch) for name in ("n", "m"))
    dims = [(ragged.dim(f"d{k}"), others(batch)) for k in range(3)]
    x = ragged.input_tensor("x", [(batch, ragged.size("B")), (ragged.dim("row"), first(batch)), *dims])
    before = time.monotonic()
    fn = ragged.compile(ragged.compute("y", x.dims, lambda *at: x[at] * 2), threads=2, cache=False)
    assert time.monotonic() - before < 60
    rows, columns = ragged.Lengths((0,), [2, 1, 3]), ragged.Lengths((0,), [3, 2, 0])
    values = np.random.default_rng(0).standard_normal(2 * 27 + 8, np.float32)
    y = fn(x=ragged.RaggedArray(values, (3, rows, columns, columns, columns)))
    np.testing.assert_array_equal(y.values, values * 2)
