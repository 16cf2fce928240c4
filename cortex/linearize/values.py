"""The value of a function of the one IR in a linearized batch."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from cortex.linearize.result import Linearized
from ragged.ir.expr import Function, Source

Value = int | npt.NDArray[Any]


def value_of(function: Function, linearized: Linearized) -> Value:
    """Return the size or the array that a function without a body stands for."""
    values = linearized.payloads if function.source is Source.PAYLOAD else linearized.arrays
    value: Value = values[function.name]
    return value
