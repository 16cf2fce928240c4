"""Binding parameters: what the caller gives is checked, and copied to memory that the compiled function owns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from ragged.api.described import DescribedTensor, Fixed
from ragged.data.read import is_array, read_array
from ragged.errors import Location, ModelError
from ragged.runtime.memory import aligned_copy

Array = npt.NDArray[Any]


def bind_parameters(
    name: str, declared: Sequence[DescribedTensor], params: Mapping[str, object]
) -> dict[str, Array]:
    """Return a copy of each parameter, C-contiguous and aligned, by name.

    Raises:
        ModelError: one is missing, is none of the function's, or has another shape or dtype.
    """
    at = Location.capture()
    unknown = sorted(set(params) - {tensor.name for tensor in declared})
    if unknown:
        raise ModelError(f"{name} has no parameter '{unknown[0]}'", at=at)
    found: dict[str, Array] = {}
    for tensor in declared:
        what = f"{name}: parameter '{tensor.name}'"
        if tensor.name not in params:
            raise ModelError(f"{what} is not given", at=at)
        value = params[tensor.name]
        if not is_array(value):
            raise ModelError(f"{what} is of type {type(value).__name__}, and an array is needed", at=at)
        array = read_array(what, value)
        shape = tuple(rule.extent for rule in tensor.extents if isinstance(rule, Fixed))
        if array.shape != shape:
            raise ModelError(f"{what} has the shape {array.shape}, not {shape}", at=at)
        if array.dtype != tensor.dtype.numpy:
            raise ModelError(f"{what} holds {array.dtype}, not {tensor.dtype.value}", at=at)
        found[tensor.name] = aligned_copy(array)
    return found
