"""Read the payloads of a node, and refuse values of another dtype or shape."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.ilir.plan import Payload
from cortex.linearize import faults
from cortex.linearize.faults import Place
from cortex.linearize.tensors import as_numpy
from ragged.ir.dtype import DType


def is_array_like(value: object) -> bool:
    """Whether NumPy reads the value as an array without guessing: by `__array__` or the buffer protocol."""
    if hasattr(type(value), "__array__"):
        return True
    try:
        memoryview(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def read_payload(payload: Payload, value: object, leaf: bool, node: object, place: Place) -> npt.NDArray[Any]:
    """Return the payload's array of its shape; `value` None is a payload that the node does not carry."""
    required = payload.required.at(leaf)
    if value is None:
        if required:
            raise faults.missing(place, payload, node)
        return np.full(payload.shape, payload.default, payload.dtype.numpy)
    if not payload.shape:
        numbers: list[Any] | npt.NDArray[Any] = _read_scalar(payload, value, place)
    elif isinstance(value, list | tuple):
        numbers = []
        _read_nested(payload, value, 0, numbers, place)
    elif is_array_like(value):
        numbers = _read_array(payload, value, place)
    else:
        raise faults.no_array(place, payload, value)
    return check_values(payload, numbers, required, place)


def check_values(
    payload: Payload, numbers: list[Any] | npt.NDArray[Any], required: bool, place: Place
) -> npt.NDArray[Any]:
    """Check integers against dtype and range; return them in the payload's dtype and shape."""
    if payload.dtype.is_int:
        for number in np.ravel(numbers).tolist() if isinstance(numbers, np.ndarray) else numbers:
            _check_integer(payload, number, required, place)
    return np.array(numbers, payload.dtype.numpy).reshape(payload.shape)


def _check_integer(payload: Payload, number: int, required: bool, place: Place) -> None:
    bound = 2 ** (8 * payload.dtype.bytes - 1)
    if not -bound <= number < bound:
        raise faults.overflow(place, payload, number)
    if payload.range is None or (number == payload.default and not required):
        return
    if not payload.range[0] <= number < payload.range[1]:
        raise faults.out_of_range(place, payload, number)


def _read_scalar(payload: Payload, value: object, place: Place) -> list[Any] | npt.NDArray[Any]:
    if payload.dtype.is_int:
        return [_integer(payload, value, place)]
    if is_array_like(value) and not isinstance(value, np.floating | np.integer):
        return _read_array(payload, value, place)
    return [_number(payload, value, place)]


def _integer(payload: Payload, value: object, place: Place) -> int:
    if isinstance(value, np.ma.MaskedArray):
        raise faults.masked(place, payload.name)
    has_dimensions = isinstance(dimensions := getattr(value, "ndim", 0), int) and dimensions != 0
    if isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool") or has_dimensions:
        raise faults.no_integer(place, payload, value)
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise faults.no_integer(place, payload, value) from None


def _number(payload: Payload, value: object, place: Place) -> float:
    if isinstance(value, bool) or not isinstance(value, float | int | np.floating | np.integer):
        raise faults.no_number(place, payload, value)
    try:
        number = float(value)
    except OverflowError:
        raise faults.overflow(place, payload, value) from None
    if payload.dtype is DType.FLOAT32 and math.isfinite(number):
        with np.errstate(over="ignore"):
            if not np.isfinite(np.float32(number)):
                raise faults.overflow(place, payload, value)
    return number


def _read_nested(payload: Payload, value: object, depth: int, numbers: list[Any], place: Place) -> None:
    if depth == len(payload.shape):
        read = _integer if payload.dtype.is_int else _number
        numbers.append(read(payload, value, place))
        return
    if not isinstance(value, list | tuple):
        raise faults.no_array(place, payload, value)
    if len(value) != payload.shape[depth]:
        raise faults.wrong_length(place, payload, value, depth)
    for element in value:
        _read_nested(payload, element, depth + 1, numbers, place)


def _read_array(payload: Payload, value: object, place: Place) -> npt.NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise faults.masked(place, payload.name)
    try:
        array = as_numpy(value)
    except Exception as error:
        raise faults.no_conversion(place, payload, value, error) from None
    check_dtype(payload, array, place)
    if array.shape != payload.shape:
        raise faults.wrong_shape(place, payload, array.shape, array)
    return array


def check_dtype(payload: Payload, array: npt.NDArray[Any], place: Place) -> None:
    """Refuse an array of another dtype: floats are as declared, integers of any width in native order."""
    if payload.dtype.is_int:
        fits = array.dtype.kind in "iu" and array.dtype.isnative
    else:
        fits = array.dtype == payload.dtype.numpy
    if not fits:
        raise faults.wrong_dtype(place, payload, array)
