"""Checks of the tensors that schedule primitives take."""

from __future__ import annotations

from cortex.ra.base import ModelTensor
from cortex.ra.model import Model
from cortex.ra.tensor import Compute
from ragged.errors import Location, ScheduleError


def check_computed(primitive: str, model: Model, tensor: ModelTensor, at: Location | None) -> str:
    """Return the name of a tensor that the model computes; `ScheduleError` if the model has no such tensor."""
    name = model.names.get(tensor, tensor.name)
    if tensor not in model.computes:
        raise ScheduleError(
            f"{primitive}: '{name}' is not a tensor of this model",
            at=at,
            because="a tensor is named by itself, and not by what it is called",
            fix="take it from model.computes",
        )
    return name


def check_operator(primitive: str, model: Model, tensor: ModelTensor, at: Location | None) -> Compute:
    """Return `tensor` as a compute; `ScheduleError` if it is an if_then_else."""
    if not isinstance(tensor, Compute):
        raise ScheduleError(
            f"{primitive}: '{model.name(tensor)}' is a choice and no operator",
            at=at,
            because="it was made by if_then_else",
            fix="name a compute",
        )
    return tensor
