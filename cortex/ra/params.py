"""The parameters that a caller hands over: that they are the ones that the model asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ragged.errors import Location, ModelError
from ragged.ir.dtype import DType


class Declared(Protocol):
    """What a parameter is declared to be: an `InputTensor`, or what is known of one that was saved."""

    @property
    def dtype(self) -> DType:
        """The type of its elements."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its extents, integers."""


def check_params(inputs: Mapping[str, Declared], params: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the parameters as NumPy arrays, in the model's order and of the dtypes they came in.

    Args:
        inputs: what the model declares, by name: `Model.inputs`.
        params: an array for each of the model's inputs, of NumPy, torch (on any device, with or without
            gradients), or anything that `numpy.asarray` takes. Nothing is copied that need not be.

    Raises:
        ModelError: parameters are missing or extra, of another shape, or not of numbers of their kind; all
            that is wrong is listed.
    """
    arrays = {name: as_numpy(value) for name, value in params.items()}
    faults = [f"'{name}' {tuple(t.shape)} is missing" for name, t in inputs.items() if name not in arrays]
    faults += [f"'{name}' is no parameter of the model" for name in arrays if name not in inputs]
    for name, tensor in inputs.items():
        if name in arrays:
            faults += _faults(name, tensor, arrays[name])
    if faults:
        raise ModelError(
            "the parameters do not fit the model",
            at=Location.capture(),
            because="; ".join(faults),
            fix=f"the model has {_listed(inputs)}; see model.init_params()",
        )
    return {name: arrays[name] for name in inputs}


def as_numpy(value: Any) -> NDArray[Any]:
    """Return an array, or a torch tensor, as a NumPy array."""
    for step in ("detach", "cpu"):
        value = getattr(value, step, lambda value=value: value)()
    return np.asarray(value)


def _faults(name: str, tensor: Declared, array: NDArray[Any]) -> list[str]:
    wanted = "iu" if tensor.dtype.is_int else "f"
    if array.dtype.kind not in wanted:
        return [f"'{name}' is of dtype {array.dtype}, not {tensor.dtype.value}"]
    if array.shape != tensor.shape:
        return [f"'{name}' has shape {array.shape}, not {tensor.shape}"]
    return []


def _listed(inputs: Mapping[str, Declared]) -> str:
    return ", ".join(f"{name} {tensor.shape}" for name, tensor in inputs.items()) or "none"
