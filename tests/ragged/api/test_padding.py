"""Padding where operators are computed in the loops of others, and where extents fall with what is padded."""

from __future__ import annotations

import numpy as np
import pytest

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.errors import DataError
from tests.ragged.api.running import Data, expected, run
from tests.ragged.api.test_schedule import refusal

LENGTHS = (3, 0, 5, 1)


class Layer:
    """A product of rows, a bias added to it, and the sum of a row of it; and data."""

    def __init__(self) -> None:
        batch, length = ragged.dim("batch"), ragged.dim("len")
        self.n = ragged.length_fn("n", over=batch)
        dims = [(batch, ragged.size("B")), (length, self.n(batch)), (ragged.dim("wide"), 4)]
        self.x = ragged.input_tensor("x", dims)
        self.bias = ragged.input_tensor("bias", [(ragged.dim("wide"), 4)])
        self.X = ragged.compute("X", dims, lambda b, t, w: 2 * self.x[b, t, w])
        self.Y = ragged.compute(
            "Y",
            dims,
            lambda b, t, w: ragged.sum(4, lambda k: self.X[b, t, k] * self.x[b, t, w]) + self.bias[w],
        )

    def check(self, s: RaggedSchedule) -> str:
        """Check that a schedule computes what it means, and return its kernel."""
        data = Data({"B": len(LENGTHS)}, {self.n: {(i,): k for i, k in enumerate(LENGTHS)}})
        draw = np.random.default_rng(0)
        for tensor in (self.x, self.bias):
            places = list(data.oracle.space(tensor))
            data.inputs[tensor] = dict(zip(places, draw.standard_normal(len(places)).tolist(), strict=True))
        want = expected(s, data)["Y"]
        for compiled in (False, True):
            np.testing.assert_allclose(run(s, data, compiled=compiled)["Y"], want, rtol=1e-5, atol=1e-5)
        return str(s.lower()).partition("with kernel:\n")[2]


@pytest.fixture
def layer() -> Layer:
    return Layer()


def test_sums_in_rows_are_stored_as_far_as_the_rows_that_are_padded_in_bulk(layer: Layer):
    s = RaggedSchedule(layer.Y)
    for tensor in (layer.X, layer.Y):
        s.fuse_dimensions(tensor.dims[0], tensor.dims[1], pad=4)
    for tensor in (layer.X, layer.Y):
        s.fuse_loops(tensor.loops[0], tensor.loops[1], pad=4)
    assert "for b_t in parallel((n_begin(B) + 3) // 4 * 4, len):" in layer.check(s)
    assert "Y_sum: workspace(float32[(n_begin(B) + 3) // 4 * 4, 4])" in str(s.lower())


def test_a_padded_loop_in_which_a_sum_reads_what_is_stored_shorter(layer: Layer):
    s = RaggedSchedule(layer.Y)
    s.pad_loop(layer.Y.loops[1], 4)
    s.pad_dimension(layer.Y.dims[1], 4)
    assert refusal(s.lower) == (
        "pad_loop: cannot pad loop 't' to a multiple of 4: 'X' is stored without padding\n"
        "  because: 'X' is read at t, and a row holds n(b)\n"
        "  example: b = 0, t = 1, B = 1, n(0) = 1\n"
        "  fix: pad_dimension(X.dims[1], 4)"
    )
    s = RaggedSchedule(layer.Y)
    for tensor in (layer.X, layer.Y):
        s.pad_loop(tensor.loops[1], 4)
        s.pad_dimension(tensor.dims[1], 4)
    layer.check(s)


def tiles(n: ragged.LengthFn, batch: ragged.Dim) -> RaggedTensor:
    """Return rows by tiles of 4: how far the last one extends falls with the number of tiles."""
    tile, lane = ragged.dim("tile"), ragged.dim("lane")
    x = ragged.input_tensor("x", [(batch, ragged.size("B")), (ragged.dim("len"), n(batch))])
    return ragged.compute(
        "Y",
        [x.dims[0], (tile, (n(batch) + 3) // 4), (lane, ragged.minimum(4, n(batch) - tile * 4))],
        lambda b, i, k: x[b, i * 4 + k] + 1.0,
    )


def test_storage_does_not_go_on_where_something_would_extend_less_than_nothing():
    batch = ragged.dim("batch")
    Y = tiles(ragged.length_fn("n", over=batch), batch)
    s = RaggedSchedule(ragged.compute("Z", Y.dims, lambda b, i, k: 2 * Y[b, i, k]))
    s.pad_dimension(Y.dims[1], 2)
    assert refusal(s.lower) == (
        "pad_dimension: cannot pad dimension 'tile' of 'Y'\n"
        "  because: 'lane' extends min(4, n(batch) - tile * 4), which may be negative beyond its end\n"
        "  example: batch = 0, tile = 1, B = 1, n(0) = 1"
    )


def triangles() -> tuple[RaggedTensor, RaggedTensor, RaggedTensor]:
    """Return triangles of any size, twice their elements, and these and one more."""
    batch, row, column = (ragged.dim(name) for name in ("batch", "row", "column"))
    n = ragged.length_fn("n", over=batch)
    x = ragged.input_tensor("x", [(batch, ragged.size("B")), (row, n(batch)), (column, row + 1)])
    X = ragged.compute("X", x.dims, lambda b, i, j: 2 * x[b, i, j])
    return x, X, ragged.compute("Y", x.dims, lambda b, i, j: X[b, i, j] + 1.0)


def test_what_callers_have_is_not_padded_where_extents_depend_on_it():
    x, X, Y = triangles()
    s = RaggedSchedule(Y)
    for tensor in (x, Y):
        assert refusal(s.pad_dimension, tensor.dims[1], 2) == (
            f"pad_dimension: cannot pad dimension 'row' of '{tensor.name}'\n"
            "  because: 'column' extends row + 1, which depends on it: "
            f"callers have '{tensor.name}' without padding there"
        )
        s.pad_dimension(tensor.dims[1], 1)
    s.pad_dimension(X.dims[1], 2)
    shapes = [[[1.0], [2.0, 3.0], [4.0, 5.0, 6.0]], [], [[7.0], [8.0, 9.0]]]
    found = ragged.compile(s)(x=ragged.array(shapes))
    assert found.to_list() == [[[2 * each + 1 for each in row] for row in rows] for rows in shapes]


def test_arrays_of_numpy_are_not_padded():
    row, column = ragged.dim("row"), ragged.dim("column")
    x = ragged.input_tensor("x", [(row, ragged.size("N")), (column, 8)])
    Y = ragged.compute("Y", x.dims, lambda i, j: x[i, j] + 1.0)
    s = RaggedSchedule(Y)
    for tensor in (x, Y):
        assert refusal(s.pad_dimension, tensor.dims[0], 4) == (
            f"pad_dimension: cannot pad dimension 'row' of '{tensor.name}'\n"
            f"  because: no dimension of '{tensor.name}' varies: "
            "callers have it as an array of NumPy's, without padding"
        )
        s.pad_dimension(tensor.dims[1], 4)
    values = np.arange(24, dtype=np.float32).reshape(3, 8)
    np.testing.assert_array_equal(ragged.compile(s)(x=values), values + 1)


def test_padding_of_an_output_is_not_shown_as_elements(layer: Layer):
    s = RaggedSchedule(layer.Y)
    s.pad_dimension(layer.Y.dims[1], 4)
    because = (
        "\n  because: 'len' is padded, and callers of 'Y', an output, would see the padding"
        "\n  fix: leave out pad_dimension(Y.dims[1], ...)"
    )
    batch, length, wide = layer.Y.dims
    assert refusal(s.reorder_dimensions, batch, length, wide) == (
        f"reorder_dimensions: cannot store 'Y' in the order (batch, len, wide){because}"
    )
    assert refusal(s.fuse_dimensions, length, wide) == (
        f"fuse_dimensions: cannot store 'len' and 'wide' of 'Y'{because}"
    )
    s.pad_dimension(length, 1)
    s.pad_dimension(wide, 2)  # of 4: nothing is beyond its end
    s.reorder_dimensions(batch, length, wide)
    layer.check(s)


def test_storage_goes_on_where_extents_grow():
    row, column = ragged.dim("row"), ragged.dim("column")
    x = ragged.input_tensor("x", [(row, ragged.size("N")), (column, row + 1)])
    Y = ragged.compute("Y", x.dims, lambda i, j: x[i, j] + 1.0)
    s = RaggedSchedule(Y)
    s.pad_dimension(Y.dims[0], 4)
    triangle = ragged.array([[1.0], [2.0, 3.0], [4.0, 5.0, 6.0]])
    y = ragged.compile(s)(x=triangle)
    assert y.padding == (4, 1) and y.to_list() == [[2.0], [3.0, 4.0], [5.0, 6.0, 7.0]]


@pytest.mark.parametrize("depth", [1, 2])
def test_indices_from_data_are_read_and_checked_within_a_rows_own_length(depth: int):
    batch, length = ragged.dim("batch"), ragged.dim("len")
    n = ragged.length_fn("n", over=batch)
    A = ragged.input_tensor("A", [(batch, ragged.size("B")), (length, n(batch))])
    I = ragged.input_tensor("I", A.dims, "int32")  # noqa: E741
    index = {1: lambda b, t: I[b, t], 2: lambda b, t: I[b, I[b, t]]}[depth]
    G = ragged.compute("G", A.dims, lambda b, t: A[b, index(b, t)])
    s = RaggedSchedule(G)
    s.pad_dimension(G.dims[1], 4)
    s.pad_loop(G.loops[1], 4)
    fn = ragged.compile(s)
    rows = [[1.0, 2.0, 3.0], [4.0], []]
    found = fn(A=ragged.array(rows), I=ragged.array([np.int32(each) for each in ([1, 2, 0], [0], [])]))
    want = {1: [2.0, 3.0, 1.0], 2: [3.0, 1.0, 2.0]}[depth]
    assert [list(row) for row in found] == [want, [4.0], []]
    wrong = ragged.array([np.int32(each) for each in ([1, 2, 3], [0], [])])
    with pytest.raises(DataError, match=r"index 3 of dimension 1 of '[AI]' is outside \[0, 3\)"):
        fn(A=ragged.array(rows), I=wrong)


def test_a_result_is_read_through_an_index_from_data():
    """Elements of X beyond a row's end are not written, and index 0 beyond a row's end is not one of an empty row."""
    batch, length = ragged.dim("batch"), ragged.dim("len")
    n = ragged.length_fn("n", over=batch)
    A = ragged.input_tensor("A", [(batch, ragged.size("B")), (length, n(batch))])
    I = ragged.input_tensor("I", A.dims, "int32")  # noqa: E741
    X = ragged.compute("X", A.dims, lambda b, t: 2 * A[b, t])
    G = ragged.compute("G", A.dims, lambda b, t: X[b, n(b) - 1 - I[b, t]])
    s = RaggedSchedule(G)
    s.pad_dimension(G.dims[1], 4)
    s.pad_loop(G.loops[1], 4)
    found = ragged.compile(s)(
        A=ragged.array([[1.0, 2.0, 3.0], [4.0], []]),
        I=ragged.array([np.int32(each) for each in ([1, 2, 0], [0], [])]),
    )
    assert [list(row) for row in found] == [[4.0, 2.0, 6.0], [8.0], []]
