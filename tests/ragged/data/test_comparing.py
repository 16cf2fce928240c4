"""Comparison element by element and as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import ragged
from ragged.data import Lengths, RaggedArray
from tests.ragged.data.reference import arrays, nested


@given(arrays(), st.integers(0, 9))
def test_with_a_number(array, number):
    assert (array == number).to_list() == mapped(nested(array), lambda value: value == number)
    assert (number != array).to_list() == mapped(nested(array), lambda value: value != number)


def mapped(part, function):
    return [mapped(one, function) for one in part] if isinstance(part, list) else function(part)


@given(arrays(), arrays())
def test_arrays_are_equal_when_their_lists_are(one, other):
    expected = nested(one) == nested(other) and one.ndim == other.ndim
    if one.size:
        assert one.equal(other) == one.allclose(other) == expected


@given(arrays(), st.data())
def test_one_element_that_differs(array, data):
    assume(array.size)
    other = array.packed().copy()
    place = data.draw(st.integers(0, other.size - 1))
    other.values[place] += 1
    assert (
        not array.equal(other)
        and not array.allclose(other, atol=0.5, rtol=0)
        and array.allclose(other, atol=1)
    )
    assert np.flatnonzero((array != other).values).tolist() == [place]


def test_how_extents_are_stored_does_not_matter():
    fixed = RaggedArray(np.arange(4), (2, 2))
    table = RaggedArray(np.arange(4), (2, Lengths((0,), [2, 2])))
    assert fixed.equal(table) and (fixed == table).values.all()
    values = np.arange(2 * (1 + 4))
    n = Lengths((0,), [1, 2])
    one = RaggedArray(values, (2, 2, n, n))
    other = RaggedArray(values, (2, 2, Lengths((0, 1), [1, 1, 2, 2]), Lengths((0, 1, 2), [1, 1, 2, 2, 2, 2])))
    assert one.equal(other)


def test_what_is_no_number_differs_and_nothing_hashes():
    array = ragged.array([[1, 2], [3]])
    assert array != None and (array == None) is False  # noqa: E711
    assert array != "12" and (array == "12") is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(array)


def test_truth_of_one_element():
    assert ragged.array([[1]]) and not ragged.array([[], [0]])
