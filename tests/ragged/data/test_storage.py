"""Where elements stand: any extents and padding, against loops over every index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragged.data import Lengths, RaggedArray
from tests.ragged.data.reference import (
    arrays,
    elements,
    every,
    extent,
    extents_of,
    indices,
    nested,
    stored,
)


@given(arrays())
def test_elements_stand_where_the_reference_says(array):
    assert array.to_list() == nested(array)
    assert array.size == len(elements(array))


@given(arrays())
def test_offsets_lead_to_each_element(array):
    offsets = [array.offsets(dim).tolist() for dim in range(array.ndim)]
    for index, value in elements(array).items():
        place = 0
        for dim, i in enumerate(index):
            place = offsets[dim][place] + i
        assert array.values[place] == value


@given(arrays())
def test_offsets_end_with_the_number_of_indices(array):
    storage = stored(array.extents, array.padding)
    for dim in range(array.ndim):
        assert array.offsets(dim)[-1] == len(indices(storage, every(storage)[: dim + 1]))


@given(arrays())
def test_to_padded_and_mask(array):
    dense, mask = array.to_padded(-7), array.mask()
    values = elements(array)
    assert dense.shape == tuple(array.to_padded().shape) and dense.nbytes == array.padded_nbytes
    for index in np.ndindex(dense.shape):
        assert dense[index] == values.get(index, -7)
        assert mask[index[: mask.ndim]] == (index in values)


@given(arrays(), st.data())
def test_padding_moves_elements_and_changes_none(array, data):
    padding = data.draw(st.tuples(*[st.integers(1, 4)] * array.ndim))
    other = array.with_padding(padding, value=-1)
    assert other.padding == padding and nested(other) == nested(array)
    assert (other.values == -1).sum() == other.values.size - other.size or padding == array.padding
    assert other.packed().values.tolist() == list(elements(array).values())
    assert array.equal(other) and (array == other).values.all() and not (array != other).values.any()


@given(extents_of(), st.data())
def test_memory_of_its_own(extents, data):
    padding = data.draw(st.tuples(*[st.integers(1, 3)] * len(extents)))
    storage = stored(extents, padding)
    number = len(indices(storage, every(storage)))
    zeros, full = RaggedArray.zeros(extents, padding=padding), RaggedArray.full(extents, 2, "int32", padding)
    assert zeros.values.shape == full.values.shape == (number,)
    assert zeros.dtype == np.float32 and full.dtype == np.int32
    assert not zeros.values.any() and (full.values == 2).all()
    assert zeros.nbytes == 4 * number


def test_attention_scores():
    n = Lengths(over=(0,), values=[2, 0, 3])
    scores = RaggedArray(np.arange(2 * (4 + 9)), (3, 2, n, n))
    assert scores.shape == (3, 2, None, None) and scores.ndim == 4
    assert scores[2, 1].tolist() == [[17, 18, 19], [20, 21, 22], [23, 24, 25]]
    assert scores.extents[2] is scores.extents[3]
    assert scores.nbytes == 8 * 26 and scores.padded_nbytes == 8 * 3 * 2 * 3 * 3


def test_a_triangle():
    triangle = RaggedArray(np.arange(6), (3, Lengths(over=(0,), values=[1, 2, 3])))
    assert triangle.to_list() == [[0], [1, 2], [3, 4, 5]]
    assert triangle.with_padding((1, 2)).values.tolist() == [0, 0, 1, 2, 3, 4, 5, 0]


def test_lengths_over_an_inner_dimension_alone():
    """Triangles of different heights: row t has t + 1 elements in each."""
    extents = (2, Lengths(over=(0,), values=[1, 3]), Lengths(over=(1,), values=[1, 2, 3]))
    array = RaggedArray(np.arange(7), extents)
    assert array.to_list() == [[[0]], [[1], [2, 3], [4, 5, 6]]]
    assert array[1].extents[1].over == (0,) and array[0].lengths.tolist() == [1]


def test_padding_of_what_lengths_depend_on_stores_nothing():
    extents = (2, Lengths(over=(0,), values=[1, 2]), Lengths(over=(0, 1), values=[2, 1, 3]))
    array = RaggedArray(np.arange(6), extents)
    assert array.with_padding((4, 4, 1)).values.tolist() == array.values.tolist()
    assert array.with_padding((1, 1, 2)).values.tolist() == [0, 1, 2, 0, 3, 4, 5, 0]


def test_a_padded_outermost_dimension():
    array = RaggedArray(np.arange(6), (3, 2)).with_padding((2, 1))
    assert array.values.tolist() == [0, 1, 2, 3, 4, 5, 0, 0]
    assert [row.tolist() for row in array] == [[0, 1], [2, 3], [4, 5]]
    assert array[1:].to_list() == [[2, 3], [4, 5]]


def test_lengths_are_the_arrays_own():
    given_lengths = np.array([1, 2], np.int32)
    lengths = Lengths((0,), given_lengths)
    given_lengths[0] = 9
    assert lengths.values.tolist() == [1, 2] and lengths.values.dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        lengths.values[0] = 3


def test_what_is_stored_already_is_not_copied():
    array = RaggedArray.zeros((2, Lengths((0,), [1, 2])), padding=(1, 4))
    assert array.with_padding((1, 4)) is array
    assert array.packed().padding == (1, 1)
    packed = array.packed()
    assert packed.packed() is packed
    assert not np.shares_memory(array.copy().values, array.values)
    assert array.astype("float64").dtype == np.float64 and array.astype("float64").padding == (1, 4)


@pytest.mark.parametrize("padding", [(1, 1, 4), (1, 2, 1), (1, 2, 2)])
def test_a_repacked_array_is_a_copy(padding):
    array = RaggedArray.zeros((2, Lengths((0,), [2, 4]), 2), padding=padding)
    assert array.packed().values.flags.c_contiguous
    assert not np.shares_memory(array.packed().values, array.values)
    assert not np.shares_memory(array.with_padding((1, 1, 1)).values, array.values)


def test_values_are_shared_where_contiguous():
    values = np.arange(12.0).reshape(6, 2)
    extents = (2, Lengths((0,), [2, 4]), 2)
    assert np.shares_memory(RaggedArray(values, extents).values, values)
    assert not np.shares_memory(RaggedArray(values.T.copy().T, extents).values, values)
    assert RaggedArray(values.T.copy().T, extents).to_list()[0] == [[0, 1], [2, 3]]


def test_lengths_of_any_dimension():
    array = RaggedArray.zeros((2, 3, Lengths((0,), [1, 2])))
    assert array.lengths.tolist() == array.lengths_of(2).tolist() == array.lengths_of(-1).tolist() == [1, 2]
    assert array.lengths_of(1).tolist() == [3]
    assert extent(array.extents, 2, {0: 1, 1: 0}) == 2


def test_large_extents_are_not_counted_one_by_one():
    """The scores of 32 sequences of 500 elements: counting them looks at 32 lengths."""
    n = Lengths((0,), [500] * 32)
    array = RaggedArray.empty((32, 8, n, n), np.bool_)
    assert array.values.size == array.size == 32 * 8 * 500 * 500
