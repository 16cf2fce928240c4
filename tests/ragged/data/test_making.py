"""Making ragged arrays, and getting back what they were made from."""

from __future__ import annotations

import doctest
import subprocess
import sys

import awkward
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import ragged
from ragged.data import Lengths, RaggedArray

LENGTHS = st.lists(st.integers(0, 5), max_size=6)
DTYPES = st.sampled_from(["bool", "int8", "int32", "int64", "float16", "float32", "float64"])


def lists(depth: int) -> st.SearchStrategy:
    element = st.integers(-(2**63), 2**63 - 1)
    for _ in range(depth):
        element = st.lists(element, max_size=4)
    return element


@st.composite
def row_lists(draw):
    lengths, width, dtype = (
        draw(LENGTHS.filter(bool)),
        draw(st.sampled_from([(), (1,), (3,), (2, 0), (2, 2)])),
        draw(DTYPES),
    )
    random = np.random.default_rng(draw(st.integers(0, 9)))
    return [(random.standard_normal((n, *width)) * 9).astype(dtype) for n in lengths]


@given(row_lists())
def test_a_list_of_arrays(rows):
    array = ragged.array(rows)
    assert array.shape == (len(rows), None, *rows[0].shape[1:]) and array.dtype == rows[0].dtype
    assert array.lengths.tolist() == [len(row) for row in rows]
    assert array.size == sum(row.size for row in rows)
    assert not any(np.shares_memory(array.values, row) for row in rows)
    for given_row, row in zip(rows, array.rows(), strict=True):
        np.testing.assert_array_equal(given_row, row, strict=True)


@given(row_lists())
def test_all_ways_from_rows_agree(rows):
    array = ragged.array(rows)
    packed, lengths = np.concatenate(rows), [len(row) for row in rows]
    dense, mask = array.to_padded(1), array.mask()
    for other in (
        ragged.array(packed, lengths=lengths),
        ragged.array(packed[::-1][::-1], lengths=np.array(lengths, np.uint8)),
        ragged.array(dense, mask=mask),
        ragged.array(dense, lengths=lengths, padded=True),
        ragged.array(array),
        ragged.array(array.to_awkward()),
        ragged.array(packed, extents=array.extents),
        ragged.array(tuple(rows)),
    ):
        assert other.equal(array) and other.shape == array.shape and other.dtype == array.dtype


@given(st.integers(1, 4).flatmap(lists))
def test_nested_lists(data):
    array = ragged.array(data, dtype="int64")
    assert array.to_list() == data
    assert ragged.array(array.to_awkward()).to_list() == data
    assert all(isinstance(extent, Lengths) for extent in array.extents[1:])
    assert all(extent.over == tuple(range(dim)) for dim, extent in enumerate(array.extents) if dim)


@given(row_lists())
def test_jagged_tensors(rows):
    tensor = torch.nested.nested_tensor([torch.from_numpy(row) for row in rows], layout=torch.jagged)
    array = ragged.array(tensor)
    assert array.equal(ragged.array(rows)) and array.dtype == rows[0].dtype
    back = array.to_torch()
    assert back.layout == torch.jagged and torch.equal(back.offsets(), tensor.offsets())
    assert torch.equal(back.values(), tensor.values())
    assert all(torch.equal(one, other) for one, other in zip(back.unbind(), tensor.unbind(), strict=True))


def test_packed_rows_share_memory():
    rows = np.zeros((5, 2), np.float32)
    assert np.shares_memory(ragged.array(rows, lengths=[3, 2]).values, rows)
    assert np.shares_memory(ragged.array(rows.reshape(1, 5, 2)).values, rows)
    for strided in (rows[:, :1], rows.T.copy().T, np.zeros((10, 2))[::2]):
        array = ragged.array(strided, lengths=[3, 2])
        assert not np.shares_memory(array.values, strided) and array.values.flags.c_contiguous
    assert not np.shares_memory(ragged.array(rows, lengths=[3, 2], dtype="float64").values, rows)
    assert not np.shares_memory(ragged.array(rows, lengths=[3, 2], padding=(1, 4, 1)).values, rows)


def test_packed_tensors_share_memory():
    tensor = torch.zeros(5, 2)
    array = ragged.array(tensor, lengths=torch.tensor([4, 1]))
    tensor[4, 1] = 3
    assert array[1].tolist() == [[0, 3]] and array.dtype == np.float32


def test_jagged_tensors_share_memory_both_ways():
    tensor = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(1, 3)], layout=torch.jagged)
    array = ragged.array(tensor)
    back = array.to_torch()
    array.values[0] = 5
    assert tensor.values()[0, 0] == 5 and back.values()[0, 0] == 5


def test_jagged_tensors_with_gaps_and_of_the_strided_layout():
    dense = torch.arange(15.0).reshape(3, 5)
    begins, lengths = torch.tensor([0, 1, 2]), torch.tensor([1, 0, 3])
    narrowed = torch.nested.narrow(dense, 1, begins, lengths, layout=torch.jagged)
    assert ragged.array(narrowed).to_list() == [[0], [], [12, 13, 14]]
    with pytest.warns(UserWarning, match="prototype"):
        strided = torch.nested.nested_tensor([torch.ones(2, 2), torch.ones(1, 2)])
    assert ragged.array(strided).to_list() == [[[1, 1], [1, 1]], [[1, 1]]]


def test_to_torch_of_read_only_and_padded_elements():
    rows = np.ones((3, 2), np.float32)
    rows.setflags(write=False)
    array = ragged.array(rows, lengths=[1, 2])
    for other in (array, array.with_padding((1, 4, 4))):
        assert ragged.array(other.to_torch()).equal(array)


def test_awkward_arrays_share_memory_both_ways():
    rows = np.arange(6.0).reshape(3, 2)
    array = ragged.array(rows, lengths=[1, 2])
    back = array.to_awkward()
    assert str(back.type) == "2 * var * 2 * float64" and back.to_list() == array.to_list()
    assert np.shares_memory(ragged.array(back).values, rows)
    assert ragged.array(back[1:]).to_list() == [[[2, 3], [4, 5]]]
    assert ragged.array(back[[1, 0, 1]]).lengths.tolist() == [2, 1, 2]


def test_fixed_and_variable_dimensions_of_awkward_arrays():
    n = Lengths((0,), [1, 2])
    array = RaggedArray(np.arange(2 * 5, dtype=np.int16), (2, 2, n, n))
    back = array.to_awkward()
    assert str(back.type) == "2 * 2 * var * var * int16"
    assert ragged.array(back).equal(array) and ragged.array(back).shape == array.shape


@pytest.mark.parametrize("data", [[], [[], []], [[[]], []]])
def test_awkward_arrays_without_elements(data):
    assert ragged.array(awkward.Array(data)).to_list() == data


def test_pythons_floats_become_float32():
    assert ragged.array([[1.5], [2, 3]]).dtype == np.float32
    assert ragged.array([[1, 2]]).dtype == np.int64 and ragged.array([[True], []]).dtype == np.bool_
    assert ragged.array([[np.float64(1)], []]).dtype == np.float64
    assert ragged.array([[1.5]], dtype="float64").dtype == np.float64
    assert ragged.array([1.5, 2.5], lengths=[2]).dtype == np.float32
    assert ragged.array([[]]).dtype == np.float32


def test_nested_lists_of_arrays():
    data = [[np.ones((2, 3)), np.zeros((0, 3))], [], [np.full((1, 3), 2.0)]]
    array = ragged.array(data)
    assert array.shape == (3, None, None, 3) and array.lengths_of(2).tolist() == [2, 0, 1]
    assert array[0].to_list() == [[[1, 1, 1], [1, 1, 1]], []]


def test_lists_of_anybodys_arrays():
    rows = [torch.ones(2, 3), np.zeros((1, 3), np.float32)]
    assert ragged.array(rows).to_list() == [[[1, 1, 1], [1, 1, 1]], [[0, 0, 0]]]
    boxed = np.empty(2, object)
    boxed[:] = [np.arange(2), np.arange(1)]
    assert ragged.array(boxed).to_list() == [[0, 1], [0]]
    assert ragged.array([ragged.array(np.ones((1, 2, 3)))], dtype="int8").shape == (1, None, 2, 3)


def test_rows_of_several_dtypes_become_the_one_asked_for():
    array = ragged.array([np.ones(2, np.int64), np.full(1, 2.5)], dtype="float32")
    assert array.dtype == np.float32 and array.to_list() == [[1, 1], [2.5]]


def test_foreign_byte_order_is_made_native():
    array = ragged.array(np.arange(3, dtype=">i4"), lengths=[1, 2])
    assert array.dtype.isnative and array.to_list() == [[0], [1, 2]]


def test_rows_are_stored_with_the_padding_asked_for():
    array = ragged.array([np.ones((1, 3)), np.ones((2, 3))], padding=(1, 2, 4))
    assert array.values.reshape(4, 4).tolist() == [[1, 1, 1, 0], [0] * 4, [1, 1, 1, 0], [1, 1, 1, 0]]
    assert ragged.array(array).padding == (1, 2, 4)
    stored = np.arange(16)
    shared = ragged.array(stored, extents=array.extents, padding=(1, 2, 4))
    assert np.shares_memory(shared.values, stored) and shared.to_list()[1] == [[8, 9, 10], [12, 13, 14]]


def test_bfloat16_shares_memory_with_tensors():
    tensor = torch.arange(6.0).to(torch.bfloat16)
    array = ragged.array(tensor, lengths=[2, 4])
    assert array.values.dtype == np.dtype("bfloat16") and array.to_list() == [[0, 1], [2, 3, 4, 5]]
    back = array.to_torch().values()
    assert back.dtype == torch.bfloat16 and back.data_ptr() == tensor.data_ptr()
    rows = ragged.array([[0], [1, 2, 3, 4, 5]], dtype="bfloat16")
    assert ragged.array([tensor[:1], tensor[1:]]).equal(rows)
    assert ragged.array([[1, 2], [3]]).astype("bfloat16").values.dtype == np.dtype("bfloat16")


def test_numpy_and_dlpack_take_arrays_that_do_not_vary():
    array = ragged.array(np.arange(12.0).reshape(2, 3, 2))
    assert np.shares_memory(np.asarray(array), array.values) and np.asarray(array).shape == (2, 3, 2)
    assert np.shares_memory(np.from_dlpack(array), array.values)
    assert torch.from_dlpack(array).shape == (2, 3, 2)
    assert np.array(array, np.int32).dtype == np.int32 and not np.shares_memory(np.array(array), array.values)
    padded = array.with_padding((1, 4, 4))
    assert np.asarray(padded).tolist() == array.to_list() and np.shares_memory(
        np.asarray(padded), padded.values
    )
    assert np.asarray(ragged.array([])).shape == (0, 0)


@pytest.mark.parametrize("module", ["array", "lengths", "ragged_array"])
def test_the_examples_of_the_docstrings(module):
    results = doctest.testmod(sys.modules[f"ragged.data.{module}"], extraglobs={"Lengths": Lengths})
    assert results.attempted and not results.failed


def test_nothing_is_imported_for_others():
    code = "import sys, ragged; ragged.array([[1], []]); print({'torch', 'awkward'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


@given(LENGTHS.filter(bool), st.sampled_from([(), (2,), (0,)]), st.booleans())
def test_square_matrices(sizes, cell, nested):
    matrices = [np.random.default_rng(n).standard_normal((n, n, *cell)) for n in sizes]
    array = ragged.array([matrices, matrices[:1]] if nested else matrices)
    rows = [matrix for row in array for matrix in row] if nested else list(array)
    assert array.dtype == np.float64 and len(rows) == len(matrices) + nested
    for found, expected in zip(rows, [*matrices, *matrices[:1]], strict=False):
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("sizes", [(3, 1, 4), (2, 2)])
def test_square_matrices_in_a_compiled_function(sizes):
    batch, row, column = ragged.dim("batch"), ragged.dim("row"), ragged.dim("column")
    n = ragged.length_fn("n", over=batch)
    dims = [(batch, ragged.size("B")), (row, n(batch)), (column, n(batch))]
    a = ragged.input_tensor("A", dims)
    f = ragged.compile(ragged.compute("T", dims, lambda b, i, j: a[b, j, i] + 1))
    matrices = [np.random.default_rng(n).standard_normal((n, n)).astype(np.float32) for n in sizes]
    for found, matrix in zip(f(A=ragged.array(matrices)), matrices, strict=True):
        np.testing.assert_array_equal(found, matrix.T + 1)
