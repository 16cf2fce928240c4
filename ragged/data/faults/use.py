"""Faults in the use of a ragged array."""

from __future__ import annotations

from ragged.data.faults.layout import short
from ragged.errors import DataError


class OutOfRange(DataError, IndexError):
    """An index beyond an extent: a `DataError` that code written for NumPy catches as well."""


def out_of_range(dim: int, index: int, extent: int, at: tuple[int, ...]) -> OutOfRange:
    """An index that a dimension does not have; `at`: the outer indices where, if its extent varies."""
    where = f" at {list(at)}" if at else ""
    return OutOfRange(f"ragged array: index {index} in dimension {dim}, of extent {extent}{where}")


def index_kind(index: object) -> DataError:
    """An index that is neither an integer nor a slice."""
    return DataError(
        f"ragged array: {short(index)} is no index",
        because="an index is an integer, a slice, or a tuple of them and at most one Ellipsis",
        fix="index .values or a row of .rows(), which are NumPy arrays",
    )


def index_count(given: int, ndim: int) -> DataError:
    """More indices than dimensions."""
    return DataError(f"ragged array: {given} indices for {ndim} dimensions")


def step_zero() -> DataError:
    """A slice that does not move."""
    return DataError("ragged array: the step of a slice is 0")


def no_lengths(variable: tuple[int, ...]) -> DataError:
    """`.lengths` of an array with no variable dimension or several."""
    which = f"dimensions {variable} vary" if variable else "no dimension varies"
    return DataError(
        f"ragged array: .lengths: {which}",
        because="it is that of the one variable dimension",
        fix="lengths_of(dim), or .extents",
    )


def no_dimension(dim: int, ndim: int) -> DataError:
    """A dimension that there is not."""
    return DataError(f"ragged array: dimension {dim} of {ndim}", fix=f"0 to {ndim - 1}, or -1 for the last")


def not_rectangular(purpose: str, dim: int, first: int, row: int, other: int) -> DataError:
    """A dense array asked for where rows differ."""
    return DataError(
        f"ragged array: it cannot become {purpose}: dimension {dim} varies",
        because="rows of a dense array are of one length",
        example=f"its extent is {first} in row 0 and {other} in row {row}",
        fix=".to_padded(value), or .values for the elements without their rows",
    )


def not_jagged(shape: tuple[int | None, ...]) -> DataError:
    """A shape that torch's nested tensors do not have."""
    return DataError(
        f"ragged array: it cannot become a jagged tensor: its shape is {shape}",
        because="a jagged tensor varies in dimension 1 alone",
        fix="torch.from_numpy(x.values) with x.offsets(dim), or torch.from_numpy(x.to_padded())",
    )


def no_awkward_dtype(dtype: object) -> DataError:
    """Elements that Awkward Array does not have."""
    return DataError(
        f"ragged array: it cannot become an Awkward array: its elements are {dtype}",
        because="Awkward Array has the floating-point numbers of NumPy alone",
        fix="x.astype('float32').to_awkward()",
    )


def other_dimensions(
    operator: str, ours: tuple[int | None, ...], theirs: tuple[int | None, ...]
) -> DataError:
    """Two arrays of different numbers of dimensions."""
    return DataError(
        f"ragged array: {operator}: shapes {ours} and {theirs}",
        because="elements are taken one by one",
        fix="x.equal(y) is False for arrays of different shapes",
    )


def other_extent(operator: str, dim: int, row: int, ours: int, theirs: int) -> DataError:
    """Two arrays of different extents."""
    return DataError(
        f"ragged array: {operator}: the extents of dimension {dim} differ",
        because="elements are taken one by one",
        example=f"number {row} is {ours} on the left and {theirs} on the right",
        fix="x.equal(y) is False for arrays of different shapes",
    )


def not_an_operand(operator: str, other: object) -> DataError:
    """An operator with something else than a ragged array, a dense array or a number."""
    return DataError(
        f"ragged array: {operator} with an object of type {type(other).__name__}",
        because="elements are combined with those of a ragged array, of a dense array, or with one number",
        fix="ragged.array(...) of it",
    )


def not_elementwise(ufunc: str, method: str) -> DataError:
    """A method of a universal function that is not element by element, as numpy.sum calls."""
    return DataError(
        f"ragged array: {ufunc}.{method} is not defined, only {ufunc} of each element",
        fix=f"numpy.{ufunc}.{method}(x.packed().values) of all elements; ragged.compute for those of each row",
    )


def not_an_output(place: object) -> DataError:
    """`out=` that is no ragged array of the result's extents."""
    return DataError(
        f"ragged array: out= is an object of type {type(place).__name__} that does not have the result's extents",
        because="a result is written element by element",
        fix="out=RaggedArray.empty(x.extents, dtype)",
    )


def not_broadcast(operator: str, shape: tuple[int, ...], cell: tuple[int, ...]) -> DataError:
    """A dense array that does not fit the dense dimensions of a ragged one."""
    return DataError(
        f"ragged array: {operator} with a dense array of the shape {shape}",
        because=f"the dense dimensions after the last variable one are {cell}, and a dense array is broadcast to them",
        fix="ragged.ops.add(x, y) and the like take one value for each row, (B, ..., F)",
    )


def truth(size: int) -> DataError:
    """`bool()` of several elements."""
    return DataError(
        f"ragged array: the truth of {size} elements is ambiguous",
        fix="x.equal(y), x.allclose(y), or .values.all() of an array without padding",
    )
