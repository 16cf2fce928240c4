"""Tensors of other libraries as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data.faults.given import readable
from ragged.errors import MASK_IGNORED, WITHOUT_MASK, DataError


def as_numpy(value: Any) -> npt.NDArray[Any]:
    """Return `numpy.asarray(value)`; of a tensor of torch that requires a gradient, of its values.

    It shares memory where the value has any. Raises what its library does where NumPy cannot read it.
    """
    return np.asarray(value.detach() if getattr(value, "requires_grad", False) is True else value)


def payload_rows(taker: str, name: str, value: Any) -> npt.NDArray[Any]:
    """Return an array, a tensor or a list with a row for each node; `DataError` if it is none, or masked.

    `taker` is what the caller gave it to.
    """
    array = read_array(taker, f"payload `{name}`", value)
    if isinstance(value, list | tuple) and array.dtype == np.float64:
        array = array.astype(np.float32)  # Python's floats have no width of their own
    if array.ndim == 0:
        raise DataError(
            f"{taker}: payload `{name}` is no array", because="row n belongs to node n", fix="one row a node"
        )
    return array


def read_array(taker: str, what: str, value: Any) -> npt.NDArray[Any]:
    """Return an array, a tensor or a list as an array; `DataError` if NumPy cannot read it, or it is masked."""
    if isinstance(value, np.ma.MaskedArray):
        raise DataError(
            f"{taker}: {what} is a masked array of NumPy",
            because=MASK_IGNORED,
            fix=WITHOUT_MASK,
        )
    try:
        return as_numpy(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{taker}: {what} cannot be read as an array",
            because=str(error).splitlines()[0],
            fix=readable(value),
        ) from error
