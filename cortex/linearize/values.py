"""What a function of the one IR stands for in a linearized batch."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy.typing as npt

from cortex.ilir.parts import class_length_of
from cortex.ilir.structure import carriers_of, in_place_of, position_of
from cortex.linearize.result import Linearized
from ragged.ir.expr import Function, Source

Value = int | npt.NDArray[Any]
Reader = Callable[[Linearized], Value]


def attribute_of(function: Function) -> str | None:
    """Return the attribute of a batch that is the value of a function; None where it is none, see `reader_of`."""
    others = (position_of, carriers_of, in_place_of, class_length_of)
    if function.source is Source.PAYLOAD or any(other(function) is not None for other in others):
        return None
    return function.name


def reader_of(function: Function) -> Reader:
    """Return what finds the value of a function of `structure_functions` in a batch: a size, or its array."""
    name = function.name
    if function.source is Source.PAYLOAD:
        return lambda linearized: linearized.payloads[name]
    position = position_of(function)
    if position is not None:
        return lambda linearized: linearized.positions[position]
    listed = carriers_of(function)
    if listed is not None:
        return _carriers(*listed)
    placed = in_place_of(function)
    if placed is not None:
        return _in_place(*placed)
    part = class_length_of(function)
    if part is not None:
        return lambda linearized: linearized.class_length[part]
    found: Reader = attrgetter(name)
    return found


def _in_place(payload: str, place: int) -> Reader:
    if place == 0:
        return lambda linearized: linearized.payload_begin[payload]
    return lambda linearized: linearized.payloads[payload].size


def _carriers(payload: str, place: int) -> Reader:
    match place:
        case 0:
            return lambda linearized: len(linearized.carriers[payload][0])
        case 1:
            return lambda linearized: linearized.carriers[payload][1]
        case 2:
            return lambda linearized: linearized.carriers[payload][0]
        case _:
            return lambda linearized: linearized.carriers[payload][2]
