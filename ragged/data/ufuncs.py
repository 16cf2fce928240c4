"""NumPy's universal functions over ragged arrays, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragged.data import faults
from ragged.data.compare import first_difference
from ragged.data.parts import Array, Parts, cell_shape, shape_of, unpadded
from ragged.data.read import is_array, read_array
from ragged.data.repack import packed
from ragged.data.space import last_variable


def is_operand(value: object) -> bool:
    """Return whether an operator of a ragged array takes `value` beside it: a number, or an array of any library."""
    return isinstance(value, bool | int | float | np.generic) or is_array(value)


def apply(ufunc: np.ufunc, operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Parts, ...]:
    """Return the results of `ufunc`, one for each of its outputs, in new memory without padding.

    Args:
        ufunc: a function of elements.
        operands: `Parts` of ragged arrays, at least one; numbers; dense arrays, broadcast over the rows.
        options: `dtype=` and `casting=`, as NumPy takes them.

    Raises:
        DataError: extents of two ragged arrays differ, or a dense array does not fit a row's dense dimensions.
    """
    extents = next(operand.extents for operand in operands if isinstance(operand, Parts))
    cell = cell_shape(extents, last_variable(extents) + 1)

    def read(operand: Any) -> Any:
        if isinstance(operand, Parts):
            if len(operand.extents) != len(extents):
                raise faults.other_dimensions(ufunc.__name__, shape_of(extents), shape_of(operand.extents))
            if (difference := first_difference(extents, operand.extents)) is not None:
                raise faults.other_extent(ufunc.__name__, *difference)
            values = packed(operand).values
            return values.reshape(-1, *cell) if 0 not in cell else np.zeros((0, *cell), values.dtype)
        if not is_array(operand):
            return operand
        dense = read_array("the operand", operand)
        if dense.ndim > len(cell) or any(
            own not in (1, wanted) for own, wanted in zip(dense.shape[::-1], cell[::-1], strict=False)
        ):
            raise faults.not_broadcast(ufunc.__name__, dense.shape, cell)
        return dense

    found = ufunc(*map(read, operands), **options)
    results: tuple[Array, ...] = found if isinstance(found, tuple) else (found,)
    return tuple(unpadded(result.reshape(-1), extents) for result in results)
