"""Activations by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import ragged
from ragged.api.values import Value
from ragged.errors import Location, ModelError

Activation: TypeAlias = Literal["relu", "gelu"] | None

_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def activation(name: Activation) -> Callable[[Value], Value]:
    """Return an activation; None is the identity. Raises `ModelError` for a name that is none."""
    match name:
        case None:
            return lambda x: x
        case "relu":
            return ragged.relu
        case "gelu":
            return gelu
        case _:
            raise ModelError(f"activation {name!r} is none of 'relu', 'gelu', None", at=Location.capture())


def gelu(x: Value) -> Value:
    """Return x times the normal distribution's integral up to x, within 3e-7.

    The error function is Hastings' approximation (Abramowitz and Stegun, 7.1.26), within 1.5e-7.
    """
    z = ragged.abs(x) * (0.5**0.5)
    t = 1.0 / (1.0 + 0.3275911 * z)
    series = t * (_ERF[0] + t * (_ERF[1] + t * (_ERF[2] + t * (_ERF[3] + t * _ERF[4]))))
    tail = series * ragged.exp(-(z * z))  # 1 - erf(z)
    return 0.5 * ragged.where(x >= 0.0, x * (2.0 - tail), x * tail)
