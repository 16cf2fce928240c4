"""What is printed of ragged arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given

import ragged
from ragged.data import Lengths, RaggedArray
from tests.ragged.data.reference import arrays, nested


@given(arrays())
def test_str_holds_the_elements(array):
    text = str(array).replace(" ]", "]").replace("[ ", "[")
    assert eval(",".join(text.split()).replace("[,", "[").replace("][", "],[")) == nested(array)


@given(arrays())
def test_repr_holds_the_elements(array):
    body = repr(array).removeprefix("ragged.array(").partition(", shape=")[0]
    assert eval(body) == nested(array)
    assert (
        repr(array).endswith(f", shape={array.shape}, dtype=int64" + f", padding={array.padding})")
        or max(array.padding) == 1
    )


@given(arrays())
def test_dense_arrays_print_as_numpys(array):
    dense = RaggedArray(np.arange(24), (2, 3, 4))
    assert str(dense) == str(np.arange(24).reshape(2, 3, 4))


def test_printing(golden):
    n = Lengths((0,), [2, 0, 3])
    rows = ragged.array(np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2), lengths=[2, 0, 3])
    cases = {
        "rows": rows,
        "padded": rows.with_padding((1, 4, 1)),
        "flags": ragged.array([[True, False], [True]]),
        "several": ragged.array([[[1, 20], [3]], [], [[], [4, 5, 6]]]),
        "scores": RaggedArray(np.arange(13), (3, n, n)),
        "empty": ragged.array([]),
        "empty rows": ragged.array([[], []]),
        "long lines": ragged.array([np.arange(40), np.arange(3)]),
        "elided": ragged.array([np.arange(n) for n in (2000, 0, 5, 700, 7, 6, 900, 1)]),
        "elided inside": ragged.array(np.arange(3000.0).reshape(30, 100), lengths=[10, 2, 0, 18]),
    }
    parts = [f"{name}:\n{array!r}\n\n{array}\n" for name, array in cases.items()]
    golden("printing.txt", "\n".join(parts))


def test_numpys_print_options_are_followed():
    array = ragged.array([[0.123456789, 2.0], [3.0]], dtype="float64")
    with np.printoptions(precision=2):
        assert str(array) == "[[0.12 2.  ]\n [3.  ]]"
    with np.printoptions(threshold=2, edgeitems=1):
        assert str(array) == "[[0.12345679 2.        ]\n [3.        ]]"
        assert str(ragged.array([[1, 2, 3], [4], [5, 6]])) == "[[1 ... 3]\n ...\n [5 6]]"
