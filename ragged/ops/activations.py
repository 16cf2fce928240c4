"""Activations by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import ragged
from ragged.api.values import Value
from ragged.errors import Location, ModelError

Activation: TypeAlias = Literal["relu", "gelu"] | None


def activation(name: Activation) -> Callable[[Value], Value]:
    """Return an activation; None is the identity. Raises `ModelError` for a name that is none."""
    match name:
        case None:
            return lambda x: x
        case "relu":
            return ragged.relu
        case "gelu":
            return ragged.gelu
        case _:
            raise ModelError(f"activation {name!r} is none of 'relu', 'gelu', None", at=Location.capture())


def activation_of(name: Activation) -> Activation:
    """Return the name of an activation; raises as `activation` does."""
    activation(name)
    return name
