"""Indices, slices and tuples of them, against nested lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragged
from ragged.data import Lengths, RaggedArray
from ragged.errors import DataError
from tests.ragged.data.reference import arrays, indices_into, nested, picked


def as_list(part):
    return part.to_list() if isinstance(part, RaggedArray) else part.tolist()


def is_outside(array, index):
    """Whether an integer is beyond an extent that does not vary: that is refused even where there are no rows."""
    pairs = zip(array.extents, index, strict=False)
    return any(isinstance(n, int) and isinstance(i, int) and not -n <= i < n for n, i in pairs)


def refuses(array, index):
    """Whether an index is out of range of what varied before an integer selected one row."""
    try:
        array[index]
    except IndexError:
        return True
    return False


def leaves(part):
    return [leaf for one in part for leaf in leaves(one)] if isinstance(part, list) else [part]


@given(st.data())
def test_what_an_index_selects(data):
    array = data.draw(arrays())
    index = data.draw(indices_into(array))
    try:
        expected = picked(nested(array), index)
    except IndexError:
        with pytest.raises(DataError):
            array[index]
        return
    if is_outside(array, index) or refuses(array, index):
        assert not leaves(expected)
        with pytest.raises(DataError):
            array[index]
        return
    part = array[index if len(index) > 1 else index[0]]
    assert as_list(part) == expected
    if isinstance(part, RaggedArray):
        assert nested(part) == expected  # its extents are legal, too


@given(arrays())
def test_iteration(array):
    expected = nested(array)
    assert len(array) == len(expected)
    assert [as_list(row) for row in array] == [as_list(row) for row in array.rows()] == expected


@given(arrays())
def test_rows_and_slices_share_memory(array):
    row_views = [part.values if isinstance(part, RaggedArray) else part for part in array if np.ndim(part)]
    for view in [*row_views, array[1:].values]:
        assert not view.size or np.shares_memory(view, array.values)


@pytest.fixture
def rows():
    return ragged.array(np.arange(10).reshape(5, 2), lengths=[2, 0, 3])


def test_a_row_is_a_view_of_numpy(rows):
    rows[2][0, 0] = 99
    assert isinstance(rows[2], np.ndarray) and rows.values[4] == 99


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((0, 2), "index 2 in dimension 1, of extent 2 at [0]"),
        ((2, 0, -3), "index -3 in dimension 2, of extent 2"),
        ((2, slice(1), 2), "index 2 in dimension 2, of extent 2"),
    ],
)
def test_an_index_out_of_a_row_is_named_by_the_dimension_of_the_whole(rows, index, message):
    with pytest.raises(DataError) as refused:
        rows[index]
    assert isinstance(refused.value, IndexError) and str(refused.value) == f"ragged array: {message}"


@pytest.mark.parametrize("far", [2**31, 2**63, -(2**63), 2**70, -(2**70)])
def test_bounds_and_steps_of_slices_may_be_beyond_64_bits(rows, far):
    lists = as_list(rows)
    for item in (slice(far), slice(far, None), slice(None, None, far)):
        assert as_list(rows[:, item]) == [row[item] for row in lists]
        assert as_list(rows[item]) == lists[item] and as_list(rows[2, item]) == lists[2][item]


def test_ellipsis_and_whole_slices(rows):
    assert as_list(rows[..., 1]) == [[1, 3], [], [5, 7, 9]]
    assert as_list(rows[2, ...]) == as_list(rows[-1]) == as_list(rows[np.int64(2)])
    assert rows[...].equal(rows) and rows[:, :, :].values is not None
    assert rows[2, 1, 0] == 6 and np.ndim(rows[2, 1, 0]) == 0


def test_the_last_of_each_row():
    array = ragged.array([[1, 2], [3], [4, 5, 6]])
    assert array[:, -1].tolist() == [2, 3, 6]
    assert array[:, -2:].to_list() == [[1, 2], [3], [5, 6]]
    assert array[::-1].to_list() == [[4, 5, 6], [3], [1, 2]]


def test_an_inner_row_may_be_selected_by_another_dimensions_length():
    array = ragged.array([[[1], [2, 3]], [[4, 5, 6]]])
    assert array[:, -1].to_list() == [[2, 3], [4, 5, 6]]
    assert array[:, -1].extents[1].over == (0,)


def test_padding_is_kept_by_views_and_dropped_by_copies():
    array = RaggedArray.zeros((3, Lengths((0,), [1, 2, 3]), 3), padding=(1, 2, 4))
    assert array[1:].padding == (1, 2, 4) and array[1:].values.size == 24
    assert array[2].shape == (3, 3) and array[2].strides == (16, 4)
    assert array[:, :2].padding == (1, 1, 1)


def test_empty_batches():
    array = ragged.array([], dtype="int32")
    assert array.shape == (0, None) and list(array) == array.to_list() == array[:].to_list() == []
    assert array.to_padded().shape == (0, 0) and array.mask().shape == (0, 0) and array.lengths.size == 0
    assert array.dtype == np.int32 and array.size == array.nbytes == array.padded_nbytes == 0
