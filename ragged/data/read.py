"""Reading what callers hold as NumPy arrays, without copying where its layout allows."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ragged.data import faults

Array = npt.NDArray[Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

_NUMBERS = "biuf"


IN_PLACE = 0x0101
"""NumPy's flags of arrays that kernels read where they are: C-contiguous, and aligned to their elements."""


def is_array(value: object) -> bool:
    """Return whether `value` is an array or a tensor of any library."""
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__") or hasattr(value, "__array__")


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether `value` is an integer of Python or NumPy; a bool is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_real(value: object) -> TypeGuard[float]:
    """Return whether `value` is an integer or a float of Python or NumPy; a bool is none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_number(dtype: np.dtype[Any]) -> bool:
    """Return whether elements can be of a dtype: booleans, integers and floats, bfloat16 among them."""
    return dtype.kind in _NUMBERS or dtype == BFLOAT16


def is_bfloat16(value: object) -> bool:
    """Return whether `value` is an array or a tensor of bfloat16, which neither NumPy nor its DLPack knows."""
    return str(getattr(value, "dtype", "")).removeprefix("torch.") == "bfloat16"


def bfloat16_memory(value: Any) -> Array:
    """Return a NumPy array that shares the memory of bfloat16 elements of any library.

    Raises what the library does if that cannot be had, as of a tensor on a GPU or with gradients.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return np.asarray(value)
    if value.requires_grad:
        raise BufferError("the tensor requires a gradient")
    return np.from_dlpack(value.view(torch.int16)).view(BFLOAT16)


def read_array(what: str, value: Any) -> Array:
    """Return `value` as a NumPy array that shares its memory where it can; `what` names it in messages.

    NumPy arrays are returned unchanged, others are read through DLPack or else `__array__`, lists become a new array;
    their floats, which Python gives no width, become float32.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise faults.masked(what)
    if isinstance(value, np.ndarray):
        return value
    try:
        if is_bfloat16(value):
            return bfloat16_memory(value)
        if hasattr(value, "resolve_neg"):  # a tensor of torch; DLPack lends memory before signs are changed
            value = value.resolve_neg()
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        array = np.asarray(value)
    except (BufferError, OverflowError, RuntimeError, TypeError, ValueError) as error:
        raise faults.unreadable(what, value, error) from error
    if isinstance(value, list | tuple) and array.dtype == np.float64:
        array = array.astype(np.float32)
    return array


def stored_values(what: str, array: Array, dtype: npt.DTypeLike | None) -> Array:
    """Return the elements of `array` (...) in row-major order: (n,), a view if they stand so and `dtype` is theirs."""
    if not is_number(array.dtype):
        raise faults.wrong_dtype(what, array.dtype)
    if dtype is not None:
        array = array.astype(checked_dtype(dtype), copy=False)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    in_order = np.require(array, requirements=["C", "A"])  # reshape alone may give a view with strides
    return in_order.reshape(-1)


def checked_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return `dtype` as one that elements can have."""
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise faults.wrong_dtype("elements", dtype) from error
    if not is_number(found):
        raise faults.wrong_dtype("elements", found)
    return found
