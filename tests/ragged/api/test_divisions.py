"""Integers divided by zero: refused where that is written, a `DataError` where lengths or data say so."""

from __future__ import annotations

import numpy as np
import pytest

import ragged
from ragged.errors import DataError, ModelError

batch, time, column = ragged.dim("batch"), ragged.dim("time"), ragged.dim("column")
n, m = ragged.length_fn("n", over=batch), ragged.length_fn("m", over=batch)
B, K = ragged.size("B"), ragged.size("K")
ROWS = [(batch, B), (time, n(batch))]
X = ragged.input_tensor("X", ROWS)
J = ragged.input_tensor("J", ROWS, "int64")
x = ragged.array([[1.0, 2.0], [3.0]])


def integers(*values: int) -> ragged.RaggedArray:
    return ragged.array(np.array(values, np.int64), lengths=[2, 1])


def compiled(made, **options):
    return ragged.compile(made, threads=1, cache=False, **options)


@pytest.mark.parametrize("operator", ["//", "%"])
def test_a_divisor_in_data(operator):
    made = ragged.compute(
        "Y", ROWS, lambda b, t: X[b, t] + (7 // J[b, t] if operator == "//" else 7 % J[b, t])
    )
    fn = compiled(made)
    assert fn(X=x, J=integers(2, -2, 7)).to_list() == (
        [[4.0, -2.0], [4.0]] if operator == "//" else [[2.0, 1.0], [3.0]]
    )
    with pytest.raises(DataError, match=rf"'7 {operator} J\[b, t\]' divides by 0\n.*at test_divisions.py"):
        fn(X=x, J=integers(2, 0, 7))
    assert fn(X=x, J=integers(1, 1, 1)).to_list() == (
        [[8.0, 9.0], [10.0]] if operator == "//" else x.to_list()
    )


def test_a_divisor_that_is_a_length():
    fn = compiled(ragged.compute("Y", ROWS, lambda b, t: X[b, t] + t // m(b)))
    assert fn(X=x, m=[1, 9]).to_list() == [[1.0, 3.0], [3.0]]
    with pytest.raises(DataError, match=r"'t // m\(b\)' divides by 0"):
        fn(X=x, m=[1, 0])


def test_a_divisor_in_an_index():
    fn = compiled(ragged.compute("Y", ROWS, lambda b, t: X[b, t // m(b)]))
    assert fn(X=x, m=[2, 1]).to_list() == [[1.0, 1.0], [3.0]]
    with pytest.raises(DataError, match=r"'t // m\(b\)' divides by 0"):
        fn(X=x, m=[0, 1])


def test_only_what_is_evaluated_has_to_have_a_value():
    made = ragged.compute(
        "Y", ROWS, lambda b, t: X[b, t] + ragged.where((J[b, t] != 0) & (6 // J[b, t] > 2), 6 // J[b, t], 0)
    )
    assert compiled(made)(X=x, J=integers(0, 2, 6)).to_list() == [[1.0, 5.0], [3.0]]


def test_a_divisor_that_is_never_zero_is_not_checked():
    made = ragged.compute("Y", ROWS, lambda b, t: X[b, t] + t // (t + 1) + t % (m(b) + 1))
    assert "divides" not in str(ragged.Schedule(made).lower())


def test_rows_beyond_their_end_may_divide_by_anything():
    made = ragged.compute("Y", ROWS, lambda b, t: X[b, t] + 7 // J[b, t])
    s = ragged.Schedule(made)
    s.pad_dimension(made.dims[1], 4)
    s.pad_loop(made.loops[1], 4)
    fn = compiled(s)
    assert fn(X=x, J=integers(2, -2, 7)).to_list() == [[4.0, -2.0], [4.0]]
    with pytest.raises(DataError, match="divides by 0"):
        fn(X=x, J=integers(2, -2, 0))


@pytest.mark.parametrize("lengths", [[0, 1], [1, 0]])
def test_an_extent_that_divides_by_a_length(lengths):
    made = ragged.compute("Y", [*ROWS, (column, n(batch) // m(batch))], lambda b, t, c: X[b, t] + c)
    fn = compiled(made)
    assert fn(X=x, m=[1, 1]).to_list() == [[[1.0, 2.0], [2.0, 3.0]], [[3.0]]]
    with pytest.raises(DataError, match=r"'n\(batch\) // m\(batch\)' divides by 0\n.*at test_divisions.py"):
        fn(X=x, m=lengths)
    assert fn(X=x, m=[2, 1]).to_list() == [[[1.0], [2.0]], [[3.0]]]


def test_a_reduction_over_an_extent_that_divides_by_a_length():
    made = ragged.compute("Y", ROWS, lambda b, t: ragged.sum(n(b) // m(b), lambda c: X[b, t] + c))
    fn = compiled(made)
    assert fn(X=x, m=[1, 1]).to_list() == [[3.0, 5.0], [3.0]]
    with pytest.raises(DataError, match=r"'n\(b[atch]*\) // m\(b[atch]*\)' divides by 0"):
        fn(X=x, m=[1, 0])


def test_an_extent_that_divides_by_a_size():
    made = ragged.compute("Y", [(batch, B), (column, B // K)], lambda b, c: c + 0.0 * m(b))
    fn = compiled(made)
    assert np.asarray(fn(m=[1, 1, 1, 1], B=4, K=2)).tolist() == [[0.0, 1.0]] * 4
    with pytest.raises(DataError, match=r"'B // K' divides by 0"):
        fn(m=[1, 1, 1, 1], B=4, K=0)


@pytest.mark.parametrize(
    "write", [lambda t: t // 0, lambda t: t % 0, lambda t: 7 // (t * 0 + ragged.size("Z") % 0)]
)
def test_dividing_by_the_number_zero_is_refused_where_it_is_written(write):
    with pytest.raises(
        ModelError, match=r"divides by 0\n.*at test_divisions.py:\d+\n.*because: it has no value"
    ):
        ragged.compute("Y", ROWS, lambda b, t: X[b, t] + write(t))
