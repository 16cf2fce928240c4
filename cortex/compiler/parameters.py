"""Binding parameters: what the caller gives is checked, and copied to memory that the compiled function owns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.compiler.described import Parameter
from cortex.ra.params import check_params
from ragged.errors import Location, ModelError
from ragged.runtime.memory import aligned_copy

Array = npt.NDArray[Any]


def bind_parameters(
    declared: Mapping[str, Parameter], params: Mapping[str, object], finite: Iterable[str] = ()
) -> dict[str, Array]:
    """Return a copy of each of a model's parameters, C-contiguous and aligned, by name.

    `params` maps their names to NumPy arrays or torch tensors of exactly their shapes and dtypes, of any strides and
    alignment. `finite` are those that must hold numbers alone.

    Raises:
        ModelError: a parameter is missing, is not one of the model's, has another shape or dtype, or is not finite
            though the compiled code relies on it.
    """
    arrays = check_params(declared, params)
    for name, tensor in declared.items():
        if arrays[name].dtype != tensor.dtype.numpy:
            raise ModelError(
                f"parameter '{name}' is of dtype {arrays[name].dtype}, not {tensor.dtype.value}",
                at=Location.capture(),
                because="the compiled code reads it as it stands in memory, and nothing is rounded unasked",
                fix=f"convert it: .astype(numpy.{tensor.dtype.value})",
            )
    for name in finite:
        _check_finite(name, arrays[name])
    return {name: aligned_copy(array) for name, array in arrays.items()}


def _check_finite(name: str, array: Array) -> None:
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        place = ", ".join(map(str, wrong[0]))
        raise ModelError(
            f"parameter '{name}' is not finite",
            at=Location.capture(),
            because="products of it with what is zero, the state of no children or an absent input, are not computed",
            example=f"{name}[{place}] = {array[tuple(wrong[0])]}",
            fix="mend the weights, or compile an ra.Schedule without specialize_leaves and hoist_inputs",
        )
