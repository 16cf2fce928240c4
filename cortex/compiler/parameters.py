"""Binding parameters: what the caller gives is checked, and copied to memory that the compiled function owns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.errors import ModelError
from ragged.ir.expr import Buffer, Const
from ragged.runtime.memory import aligned_empty

Array = npt.NDArray[Any]


def bind_parameters(buffers: tuple[Buffer, ...], params: Mapping[str, object]) -> dict[str, Array]:
    """Return a copy of each parameter, C-contiguous and aligned, by name.

    `params` maps the names of `buffers` to NumPy arrays or torch tensors of exactly their shapes and dtypes, of any
    strides and alignment.

    Raises:
        ModelError: a parameter is missing, is not one of the model's, or has another shape or dtype.
    """
    wanted = {buffer.name: buffer for buffer in buffers}
    missing = [name for name in wanted if name not in params]
    extra = [name for name in params if name not in wanted]
    if missing or extra:
        raise ModelError(
            "the parameters are not the model's: " + "; ".join(_differences(missing, extra)),
            because=f"the model reads {_names(list(wanted))}",
            fix="give a mapping with exactly these names; `model.init_params()` makes one",
        )
    return {name: _bind(buffer, params[name]) for name, buffer in wanted.items()}


def _differences(missing: list[str], extra: list[str]) -> list[str]:
    parts = [f"{_names(missing)} missing"] if missing else []
    return parts + ([f"{_names(extra)} not known"] if extra else [])


def _names(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _bind(buffer: Buffer, value: object) -> Array:
    array = as_numpy(buffer.name, value)
    shape = tuple(int(extent.value) for extent in buffer.shape if isinstance(extent, Const))
    if array.shape != shape:
        raise ModelError(
            f"parameter '{buffer.name}' has shape {array.shape}, not {shape}",
            because="the model declares that shape, and nothing is broadcast or transposed",
        )
    if array.dtype != buffer.dtype.numpy:
        raise ModelError(
            f"parameter '{buffer.name}' is of dtype {array.dtype}, not {buffer.dtype.value}",
            fix=f"convert it: .astype(numpy.{buffer.dtype.value})",
        )
    copy = aligned_empty(shape, array.dtype)
    copy[...] = array
    return copy


def as_numpy(name: str, value: object) -> Array:
    """Return an array of the caller's as NumPy sees it, without a copy where that is possible."""
    detach = getattr(value, "detach", None)
    source = detach().cpu() if callable(detach) else value
    if not (isinstance(source, np.ndarray) or hasattr(source, "__array__")):
        raise ModelError(
            f"parameter '{name}' is a {type(value).__name__}, not an array",
            fix="give a NumPy array or a torch tensor",
        )
    return np.asarray(source)
