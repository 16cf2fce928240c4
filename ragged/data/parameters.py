"""Parameters as callers give them: their names, shapes and kinds are checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ragged.data.faults.given import readable
from ragged.data.read import BFLOAT16, bfloat16_memory, is_bfloat16
from ragged.errors import MASK_IGNORED, WITHOUT_MASK, Location, ModelError


class Declared(Protocol):
    """A declared parameter."""

    @property
    def dtype(self) -> Any:
        """The `ragged.ir.dtype.DType` of its elements."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its extents: integers, or expressions of sizes."""


def check_params(
    declared: Mapping[str, Declared], params: Mapping[str, Any], owner: str = "the model"
) -> dict[str, NDArray[Any]]:
    """Return the parameters as NumPy arrays of their own dtypes, in the declared order.

    Args:
        declared: the parameters, by name.
        params: NumPy arrays, torch tensors (on any device, with or without gradients), or anything that
            `numpy.asarray` takes; lists of Python's numbers become arrays of the declared dtype. Copied only where
            necessary. Floats of 16 bits, bfloat16 and float16, are widened to float32 where that is declared, which is
            exact.
        owner: the model or function that has them, for messages.

    Raises:
        ModelError: `params` is no mapping; one is masked, or cannot be read as an array; or parameters are missing,
            unknown, of another shape or kind of numbers, and all faults are listed.
    """
    if not isinstance(params, Mapping):
        raise ModelError(
            f"the parameters of {owner} are of type {type(params).__name__}, not a mapping",
            at=Location.capture(),
            because="each parameter is found by its name",
            fix="give a dict of arrays; of a torch.nn.Module module.state_dict()",
        )
    arrays = {name: read_parameter(name, value) for name, value in params.items()}
    faults = [f"'{name}' {_shape(t)} is missing" for name, t in declared.items() if name not in arrays]
    faults += [f"'{name}' is no parameter of {owner}" for name in arrays if name not in declared]
    for name, tensor in declared.items():
        if name in arrays:
            faults += _faults(name, tensor, arrays[name], params[name])
    if faults:
        raise ModelError(
            f"the parameters do not fit {owner}",
            at=Location.capture(),
            because="; ".join(faults),
            fix=f"{owner} has {_listed(declared)}"
            + ("; see model.init_params()" if "model" in owner else ""),
        )
    return {name: _widened(arrays[name], tensor, params[name]) for name, tensor in declared.items()}


def read_parameter(name: str, value: Any) -> NDArray[Any]:
    """Return a parameter as a NumPy array; `ModelError` for one without data, or of a layout or dtype NumPy lacks."""
    if isinstance(value, np.ma.MaskedArray):
        raise ModelError(
            f"parameter '{name}' is a masked array of NumPy",
            at=Location.capture(),
            because=MASK_IGNORED,
            fix=WITHOUT_MASK,
        )
    try:
        return as_numpy(value)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ModelError(
            f"parameter '{name}' cannot be read as an array: it is a {type(value).__name__}",
            at=Location.capture(),
            because=str(error).partition("\n")[0] or type(error).__name__,
            fix=readable(value),
        ) from error


def as_numpy(value: Any) -> NDArray[Any]:
    """Return an array, or a torch tensor, as a NumPy array."""
    for step in ("detach", "cpu"):
        value = getattr(value, step, lambda value=value: value)()
    return bfloat16_memory(value) if is_bfloat16(value) else np.asarray(value)


def _without_dtype(given: object) -> bool:
    """Return whether these are Python's numbers, which have no dtype."""
    return isinstance(given, int | float | list | tuple)


def _widened(array: NDArray[Any], tensor: Declared, given: Any) -> NDArray[Any]:
    if _without_dtype(given):
        return array.astype(tensor.dtype.value)
    narrow = array.dtype in (np.float16, BFLOAT16) and tensor.dtype.value == "float32"
    return array.astype(np.float32) if narrow else array


def _faults(name: str, tensor: Declared, array: NDArray[Any], given: object) -> list[str]:
    numbers = _without_dtype(given)
    wanted = "iu" if tensor.dtype.is_int else "f" + "iu" * numbers if tensor.dtype.is_float else "b"
    kind = "f" if array.dtype == BFLOAT16 else array.dtype.kind
    if kind not in wanted:
        return [f"'{name}' is of dtype {array.dtype}, not {tensor.dtype.value}"]
    if numbers and (large := _too_large(array, tensor)):
        return [f"'{name}' holds {large[0]}, which {tensor.dtype.value} cannot hold"]
    pairs = zip(array.shape, tensor.shape, strict=False)
    known = [not isinstance(extent, int) or extent == own for own, extent in pairs]
    if len(known) < max(array.ndim, len(tensor.shape)) or not all(known):
        return [f"'{name}' has shape {array.shape}, not {_shape(tensor)}"]
    return []


def _too_large(array: NDArray[Any], tensor: Declared) -> list[Any]:
    """Return the numbers that the declared dtype cannot hold."""
    with np.errstate(over="ignore"):
        cast = array.astype(tensor.dtype.value)
    outside = cast != array if tensor.dtype.is_int else np.isfinite(array) & ~np.isfinite(cast)
    found: list[Any] = array[outside].tolist()
    return found


def _shape(tensor: Declared) -> str:
    extents = ", ".join(map(str, tensor.shape))
    return f"({extents},)" if len(tensor.shape) == 1 else f"({extents})"


def _listed(declared: Mapping[str, Declared]) -> str:
    return ", ".join(f"{name} {_shape(tensor)}" for name, tensor in declared.items()) or "none"
