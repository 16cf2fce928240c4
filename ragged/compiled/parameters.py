"""Binding parameters: they are checked, and copied to memory that the compiled function owns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.compiled.signature import Signature
from ragged.compiled.sizes import Affine, Known, SizeEquation, solve_sizes
from ragged.data.parameters import check_params
from ragged.errors import DataError, Location, ModelError
from ragged.runtime.memory import aligned_copy

Array = npt.NDArray[Any]


def bind_parameters(signature: Signature, params: Mapping[str, object]) -> tuple[dict[str, Array], Known]:
    """Return a C-contiguous, aligned copy of each parameter, by name, and the sizes that follow from their shapes.

    Raises as `checked_parameters` does.
    """
    arrays, sizes = checked_parameters(signature, params)
    return {name: aligned_copy(array) for name, array in arrays.items()}, sizes


def checked_parameters(signature: Signature, params: Mapping[str, object]) -> tuple[dict[str, Array], Known]:
    """Return each parameter as an array, by name, and the sizes that follow from their shapes.

    `params` are NumPy arrays or torch tensors of exactly the declared shapes and dtypes, of any strides and alignment.

    Raises:
        ModelError: a parameter is missing, unknown, has another shape or dtype, or is not finite and must be.
        DataError: a size follows from no shape, would be no integer from 0 up, or two shapes disagree on it.
    """
    arrays = check_params(signature.parameters, params, signature.name)
    for name, parameter in signature.parameters.items():
        if arrays[name].dtype != parameter.dtype.numpy:
            raise ModelError(
                f"parameter '{name}' is of dtype {arrays[name].dtype}, not {parameter.dtype.value}",
                at=Location.capture(),
                because="the compiled code reads it as it stands in memory, and nothing is rounded unasked",
                fix=f"convert it: .astype(numpy.{parameter.dtype.value}), .to(torch.{parameter.dtype.value})",
            )
    for name in signature.finite:
        _require_finite(name, arrays[name])
    return arrays, _solved(signature, arrays)


def _solved(signature: Signature, arrays: Mapping[str, Array]) -> Known:
    """Return the sizes that the parameters' shapes give."""
    equations = [
        SizeEquation(extent, arrays[name].shape[d], f"{signature.name}: parameter '{name}'", f"dimension {d}")
        for name, parameter in signature.parameters.items()
        for d, extent in enumerate(parameter.shape)
        if isinstance(extent, Affine)
    ]
    sizes: Known = {}
    solve_sizes(equations, sizes)
    for each in equations:
        for size, _ in each.extent.terms:
            if size not in sizes:
                raise DataError(
                    f"{each.what} extends {each.value} in {each.dim}, which is {each.extent}",
                    because=f"{size} does not follow from that",
                    fix=f"a parameter that extends {size}",
                )
    return sizes


def _require_finite(name: str, array: Array) -> None:
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
