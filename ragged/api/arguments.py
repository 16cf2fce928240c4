"""Reading the arguments of a call: whatever they are given as, and what tells calls of other lengths apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ragged.api.described import Described
from ragged.api.given import about
from ragged.data import Lengths, RaggedArray, array
from ragged.data.read import is_array, read_array
from ragged.errors import DataError

Array = npt.NDArray[Any]
Key: TypeAlias = tuple[object, ...]
"""All of a call's arguments but the elements of arrays: equal for calls that differ in those alone."""


class Reader:
    """Reads the arguments of calls; what a key says is checked once, where it is first seen."""

    __slots__ = ("_inputs", "_name", "_names")

    def __init__(self, name: str, described: Described) -> None:
        self._name = name
        self._inputs = tuple((tensor.name, tensor.varies) for tensor in described.inputs)
        self._names = frozenset(name for name, _ in self._inputs)

    def __call__(self, arrays: Mapping[str, object]) -> tuple[Key, dict[str, RaggedArray | Array]]:
        """Return a call's key, and its arguments as arrays of ours or NumPy's, C-contiguous.

        Raises:
            DataError: an argument is missing, or is no array.
        """
        key: list[object] = []
        found: dict[str, RaggedArray | Array] = {}
        for name, varies in self._inputs:
            value = arrays.get(name)
            if varies:
                if not isinstance(value, RaggedArray):
                    value = _ragged(f"{self._name}: '{name}'", self._given(name, value))
                key += (value.values.dtype, value.padding)
                key += [each if type(each) is int else _content(each) for each in value.extents]
            else:
                if type(value) is not np.ndarray or not value.flags.c_contiguous:
                    value = _dense(f"{self._name}: '{name}'", self._given(name, value))
                key += (value.dtype, value.shape)
            found[name] = value
        if len(arrays) > len(found):
            key += [_named(name, value) for name, value in arrays.items() if name not in self._names]
        return tuple(key), found

    def _given(self, name: str, value: object) -> object:
        if value is None:
            raise DataError(f"{self._name}: '{name}' is not given", fix=f"{self._name}({name}=...)")
        return value


def _ragged(what: str, value: object) -> RaggedArray:
    with about(what):
        return array(value)


def _content(extent: int | Lengths) -> object:
    return (extent.over, extent.values.tobytes()) if isinstance(extent, Lengths) else extent


def _named(name: str, value: object) -> object:
    """Return what tells a number or lengths that are given by name from others; anything else is only like itself."""
    if isinstance(value, int | np.integer):
        return name, type(value), value
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return name, value.dtype, value.shape, value.tobytes()
    return name, object()


def _dense(what: str, value: object) -> Array:
    if isinstance(value, RaggedArray):
        raise DataError(f"{what} has no dimension that varies, and a ragged array is given")
    if not is_array(value):
        raise DataError(f"{what} is of type {type(value).__name__}, and an array is needed")
    return np.ascontiguousarray(read_array(what, value))
