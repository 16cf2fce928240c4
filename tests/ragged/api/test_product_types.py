"""Products of matrices of every type: tiles in registers, and what NumPy says."""

import numpy as np
import pytest

import ragged
from ragged.api.tensors import RaggedTensor
from ragged.ir.dtype import DType

TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32")


def matrices(dtype: str):
    random = np.random.default_rng(0)
    if DType(dtype).is_float:
        return [
            random.standard_normal(s, np.float32).astype(DType(dtype).numpy) for s in ((37, 20), (20, 70))
        ]
    return [random.integers(-99, 99, s).astype(dtype) for s in ((37, 20), (20, 70))]


def product(dtype: str, m, k, n, *, then=lambda total: total, declare=ragged.input_tensor) -> RaggedTensor:
    i, j, r = ragged.dim("i"), ragged.dim("j"), ragged.dim("r")
    a = ragged.input_tensor("a", [(i, m), (r, k)], dtype)
    b = declare("b", [(r, k), (j, n)], dtype)
    return ragged.compute(
        "c", [(i, m), (j, n)], lambda p, q: then(ragged.sum(r, lambda s: a[p, s] * b[s, q])), dtype
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("fixed", [False, True])
def test_products_have_tiles(dtype, alone, fixed):
    sizes = (37, 20, 70) if fixed else map(ragged.size, "MKN")
    then = (lambda total: total) if alone else (lambda total: ragged.maximum(total * 2, 1))
    function = ragged.compile(product(dtype, *sizes, then=then))
    assert "scope=register" in function.show("loops")
    a, b = matrices(dtype)
    exact = a.astype(float) @ b.astype(float)
    exact = exact if alone else np.maximum(2 * exact, 1)
    found = function(a=a, b=b)
    assert found.dtype == DType(dtype).numpy
    if DType(dtype).is_float:
        tolerance = {"float16": 2e-3, "bfloat16": 1e-2}.get(dtype, 1e-5)
        np.testing.assert_allclose(found.astype(float), exact, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, exact.astype(np.int64).astype(dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int16"])
def test_products_of_a_matrix_with_itself_have_tiles(dtype):
    i, j, r = ragged.dim("i"), ragged.dim("j"), ragged.dim("r")
    m = ragged.size("M")
    a = ragged.input_tensor("a", [(i, m), (r, ragged.size("K"))], dtype)
    gram = ragged.compute(
        "g", [(i, m), (j, m)], lambda p, q: ragged.sum(r, lambda s: a[p, s] * a[q, s]), dtype
    )
    function = ragged.compile(gram)
    (x, _) = matrices(dtype)
    exact = x.astype(float) @ x.astype(float).T
    if DType(dtype).is_float:
        assert "scope=register" in function.show("loops")
        np.testing.assert_allclose(function(a=x).astype(float), exact, rtol=2e-3, atol=2e-3)
    else:
        np.testing.assert_array_equal(function(a=x), exact.astype(np.int64).astype(dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_products_with_parameters_have_tiles(dtype):
    program = product(dtype, *map(ragged.size, "MKN"), declare=ragged.parameter)
    a, b = matrices(dtype)
    function = ragged.compile(program, {"b": b})
    assert "scope=register" in function.show("loops")
    np.testing.assert_array_equal(
        function(a=a), ragged.compile(product(dtype, *map(ragged.size, "MKN")))(a=a, b=b)
    )
