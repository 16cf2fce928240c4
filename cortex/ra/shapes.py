"""Checks of declarations: shapes, dtypes, function parameters and names."""

from __future__ import annotations

import inspect
import linecache
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cortex.ra.base import K, N, S, Shape, StructureDim
from cortex.ra.rules import shown
from ragged.data.read import is_integer
from ragged.errors import Location, ModelError
from ragged.ir.dtype import DType

_STORED = (DType.FLOAT32, DType.INT32, DType.INT64)


def described(shape: Shape) -> str:
    """Return the shape as a user writes it."""
    inner = ", ".join(str(dim) for dim in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def check_name(what: str, name: object, at: Location | None) -> None:
    """Refuse a name that cannot be an array's key or a node's attribute."""
    if not isinstance(name, str) or name in ("", "children"):
        raise ModelError(
            f"{what}: {name!r} is no name",
            at=at,
            because="a node's children have that name" if name == "children" else "a name is a string",
            fix=f'{what}("some_name", shape)',
        )


def dense_shape(what: str, shape: Sequence[int], at: Location | None) -> tuple[int, ...]:
    """Return the shape; `ModelError` unless all extents are dense."""
    dims = _tuple(what, shape, at)
    for dim in dims:
        _check_extent(what, dim, at)
    return tuple(int(dim) for dim in dims)


def node_shape(
    what: str,
    shape: Sequence[StructureDim | int],
    at: Location | None,
    children: bool = False,
    structures: bool = False,
) -> Shape:
    """Return the shape, N first, then K if `children` allows it, or S if `structures` does, then dense extents."""
    dims = _tuple(what, shape, at)
    if structures and dims[:1] == (S,):
        for dim in dims[1:]:
            _check_extent(what, dim, at)
        return (S, *(int(dim) for dim in dims[1:] if not isinstance(dim, StructureDim)))
    if not dims or dims[0] is not N:
        raise ModelError(
            f"{what}: shape {described(dims)} does not begin with ra.N",
            at=at,
            because="everything but a parameter has a value for each node",
            fix=f"shape {described((N, *(d for d in dims if d is not N)))}",
        )
    begin = 2 if K in dims[1:2] else 1
    if begin == 2 and not children:
        raise ModelError(
            f"{what}: shape {described(dims)} has the dimension of children",
            at=at,
            because="it has one value for each node, whatever its parents are",
            fix="a value for each child of a node is ra.compute((ra.N, ra.K, ...), lambda n, k, ...: ...)",
        )
    for dim in dims[begin:]:
        _check_extent(what, dim, at)
    return (*dims[:begin], *(int(dim) for dim in dims[begin:] if not isinstance(dim, StructureDim)))


def _tuple(what: str, shape: Any, at: Location | None) -> tuple[Any, ...]:
    if not isinstance(shape, tuple | list):
        given = repr(shape) if isinstance(shape, int | str) else f"of type {type(shape).__name__}"
        raise ModelError(
            f"{what}: a shape is a tuple of extents, not {given}", at=at, fix="(ra.N, 256), or (256,)"
        )
    return tuple(shape)


def stored_dtype(what: str, dtype: str | DType | type[Any], at: Location | None) -> DType:
    """Return the storage dtype of a parameter or payload."""
    name = (
        dtype.value if isinstance(dtype, DType) else str(np.dtype(dtype)) if dtype in _NUMPY else str(dtype)
    )
    found = next((stored for stored in _STORED if stored.value == name), None)
    if found is None:
        raise ModelError(
            f"{what}: dtype '{name}' is none of {', '.join(stored.value for stored in _STORED)}",
            at=at,
            because="models compute with floats of 32 bits, and index with integers",
        )
    return found


def default_value(what: str, default: Any, dtype: DType, at: Location | None) -> int | float | None:
    """Return a default as a number of the dtype, or None where there is none; `ModelError` if it is no such number."""
    if default is None:
        return None
    if dtype.is_int and not isinstance(default, (int, np.integer)):
        raise ModelError(
            f"{what}: the default {default!r} is no integer, the payload is",
            at=at,
            fix="default=-1, or the dtype of the default",
        )
    limits = np.iinfo(dtype.value) if dtype.is_int else np.finfo(dtype.value)
    try:
        value = int(default) if dtype.is_int else float(default)
    except (TypeError, ValueError, OverflowError):
        value = None
    if value is None or (not limits.min <= value <= limits.max and value == value and abs(value) != math.inf):
        raise ModelError(
            f"{what}: the default {default!r} is no {dtype.value}",
            at=at,
            because=f"it holds numbers from {limits.min} to {limits.max}",
            fix="default=0" if dtype.is_int else "default=0.0",
        )
    return value


def parameters(what: str, function: Callable[..., Any], shape: Shape, at: Location | None) -> list[str]:
    """Return the function's parameter name for each dimension; parameters with defaults do not count."""
    check_function(what, function, f"lambda {', '.join(_indices(shape))}: ...", at)
    named = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    positional = [p for p in named if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is p.VAR_POSITIONAL for p in named):
        rest = ["n", *(("k",) if K in shape else ()), *(f"i{axis}" for axis in range(len(shape)))]
        return ([p.name for p in positional] + rest[len(positional) :])[: len(shape)]
    if len(positional) != len(shape):
        raise ModelError(
            f"{what}: the function takes {counted(len(positional), 'argument')}, shape {described(shape)} has "
            f"{counted(len(shape), 'dimension')}",
            at=at,
            fix=f"lambda {', '.join(_indices(shape))}: ...",
        )
    return [p.name for p in positional]


def check_function(what: str, function: object, example: str, at: Location | None) -> None:
    """Refuse an object that is not callable; `example` is shown as the fix."""
    if not callable(function):
        raise ModelError(
            f"{what}: {shown(function)} is no function",
            at=at,
            because="the model calls it, with the indices that there are",
            fix=example,
        )


def assigned_name(at: Location | None, function: str) -> str:
    """Return the name that the line at `at` assigns the result of `function` to, or "" if there is none, or several."""
    if at is None:
        return ""
    assignment = rf"(?:^|;)\s*(\w+)\s*=\s*(?:\w+\.)*{function}\("
    found = re.findall(assignment, linecache.getline(at.file, at.line))
    return str(found[0]) if len(found) == 1 else ""


_NUMPY: tuple[Any, ...] = (np.float32, np.int32, np.int64)


def _indices(shape: Shape) -> tuple[str, ...]:
    """Return index names for a shape, for use in examples."""
    return ("s" if shape[:1] == (S,) else "n", *("k" for dim in shape if dim is K), *"ijlm")[: len(shape)]


def _check_extent(what: str, dim: object, at: Location | None) -> None:
    if is_integer(dim) and dim >= 1:
        return
    markers = {
        N: "ra.N comes first, and once",
        K: "ra.K comes right after ra.N, and once",
        S: "ra.S comes first, of what is computed after the recursion",
    }
    reason = next((reason for marker, reason in markers.items() if dim is marker), None)
    raise ModelError(
        f"{what}: {dim!r} is no extent", at=at, because=reason or "an extent is a whole number from 1 on"
    )
