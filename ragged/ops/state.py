"""Reading a PyTorch module's state: arrays by its own names, checked against the shapes that a layer has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ragged.data.read import BFLOAT16, is_array, read_array
from ragged.errors import Location, ModelError

Array: TypeAlias = npt.NDArray[np.float32]
Shapes: TypeAlias = Mapping[str, tuple[int, ...]]


def read_state(what: str, state: Mapping[str, Any], shapes: Shapes) -> dict[str, Array]:
    """Return a copy of each array of a state, float32, by its name; floats of 16 bits are widened.

    Args:
        what: the layer, for messages.
        state: tensors of torch's or arrays; what `module.state_dict()` returned.
        shapes: the names that the layer has, and the shapes.

    Raises:
        ModelError: an array is missing, unknown, of another shape or dtype; all of them are listed.
    """
    faults = [f"'{name}' {shape} is missing" for name, shape in shapes.items() if name not in state]
    found: dict[str, Array] = {}
    for name, value in state.items():
        if name not in shapes:
            faults.append(f"there is no '{name}' in it")
        elif not is_array(value):
            faults.append(f"'{name}' is of type {type(value).__name__}, and an array is needed")
        else:
            array = read_array(f"{what}: '{name}'", value)
            if array.dtype in (np.float16, BFLOAT16):
                array = array.astype(np.float32)
            if array.shape != shapes[name]:
                faults.append(f"'{name}' has the shape {array.shape}, not {shapes[name]}")
            elif array.dtype != np.float32:
                faults.append(f"'{name}' holds {array.dtype}, not float32")
            else:
                found[name] = array.copy()
    if faults:
        raise ModelError(
            f"{what}: the state does not fit",
            at=Location.capture(),
            because="; ".join(faults),
            fix="float32, float16 or bfloat16 arrays by the names and of the shapes in `.shapes`",
        )
    return found


def prefixed(prefix: str, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a module that is part of another one under `prefix`."""
    return {f"{prefix}.{name}": shape for name, shape in shapes.items()}


def below(prefix: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a state that belongs to the module called `prefix`, by its own names."""
    start = f"{prefix}."
    return {name[len(start) :]: value for name, value in state.items() if name.startswith(start)}


def bound_names(state: Mapping[str, Array]) -> dict[str, Array]:
    """Return a state by the names that parameters of a program have: "norm1.weight" is "norm1_weight" there."""
    return {name.replace(".", "_"): array for name, array in state.items()}
