"""Storage of dimensions in dimensions: the tables that a kernel reads, and loops that are parallel by them."""

import numpy as np
import pytest

import ragged
from ragged import Lengths, RaggedArray
from ragged.errors import DataError

HEADS = 3


def triangles(order):
    """Return y = 2 x over (batch, n, heads, i + 1), in an order of these dimensions, for two threads."""
    batch, row, head, key = (ragged.dim(name) for name in ("batch", "row", "head", "key"))
    n = ragged.length_fn("n", over=batch)
    extents = {"b": (batch, ragged.size("B")), "i": (row, n(batch)), "h": (head, HEADS), "k": (key, row + 1)}
    x = ragged.input_tensor("x", [extents[each] for each in order])
    s = ragged.Schedule(ragged.compute("y", x.dims, lambda *at: x[at] * 2.0))
    return ragged.compile(s, threads=2)


def batch(order, lengths):
    """Return an array of these lengths, and the number of each element in row-major order."""
    each_row = np.concatenate([np.arange(1, n + 1, dtype=np.int32) for n in lengths])
    extents = {"b": len(lengths), "h": HEADS}
    extents["i"] = Lengths((order.index("b"),), np.array(lengths, np.int32))
    extents["k"] = Lengths((order.index("b"), order.index("i")), each_row)
    count = HEADS * int(each_row.sum())
    return RaggedArray(np.arange(count, dtype=np.float32), tuple(extents[each] for each in order))


@pytest.mark.parametrize("order", ["bihk", "bhik"])
def test_slices_of_one_shape_share_a_table(order):
    """CoRa, algorithm 1: for the rows of all triangles one table of the longest's, not one of all rows."""
    function, lengths = triangles(order), [5, 0, 40, 17, 40, 1]
    x = batch(order, lengths)
    assert np.array_equal(function(x=x).values, 2 * x.values)

    tables = function.profile(1, x=x).table_bytes - 4 * len(lengths)  # the lengths themselves
    assert tables <= 8 * ((len(lengths) + 1) + (max(lengths) + 1) + 1)
    sparse = 8 * ((len(lengths) + 1) + (HEADS * sum(lengths) + 1))
    assert tables < sparse / 6


def test_rows_of_all_triangles_are_shared_out():
    """That places of different sequences differ follows from both tables, and from the largest length."""
    loops = triangles("bihk").show("loops")
    assert "for w in team(workers)" in loops and "upper_bound(n)" in loops


def test_slices_that_differ_by_more_than_their_own_index_have_a_table_of_all_rows():
    batch_, row, key = (ragged.dim(name) for name in ("batch", "row", "key"))
    n = ragged.length_fn("n", over=batch_)
    x = ragged.input_tensor("x", [(batch_, ragged.size("B")), (row, n(batch_)), (key, n(batch_) - row)])
    text = str(ragged.Schedule(ragged.compute("y", x.dims, lambda *at: x[at] * 2.0)).lower())
    assert "x: payload(float32[rows_begin(n_begin(B))]" in text


def test_a_negative_length_is_refused_before_a_table_is_read_at_it():
    """Its offset would stand before the table."""
    row, key, batch_ = (ragged.dim(name) for name in ("row", "key", "batch"))
    n = ragged.length_fn("n", over=batch_)
    x = ragged.input_tensor("x", [(batch_, ragged.size("B"))])
    y = ragged.compute(
        "y", [(batch_, ragged.size("B")), (row, n(batch_)), (key, row + 1)], lambda b, i, k: x[b]
    )
    function = ragged.compile(ragged.Schedule(y), threads=1)
    ones = np.ones(3, np.float32)
    assert [len(each) for each in function(x=ones, n=np.array([2, 0, 1], np.int32)).rows()] == [2, 0, 1]
    with pytest.raises(DataError, match="the length of row 1 is -1"):
        function(x=ones, n=np.array([2, -1, 1], np.int32))
