"""Results of calls: in the kind of the arguments, or in arrays that the caller has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.api.bound_arguments import ResultLayout
from ragged.api.signature import TensorSpec
from ragged.data import RaggedArray
from ragged.data.compare import same_shape
from ragged.data.like import writable_view
from ragged.data.read import is_array
from ragged.errors import DataError

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class OutArrays:
    """The arrays of `out=`: as the caller has them, and as NumPy arrays that share their memory.

    Of a ragged array that is the run of its elements.
    """

    own: Mapping[str, Any]
    views: Mapping[str, Array]


def read_out(name: str, out: object, outputs: Mapping[str, TensorSpec]) -> OutArrays:
    """Return the arrays that a call writes results into; `out` is one, or several by the outputs' names.

    Raises:
        DataError: something is no array, or of another rank or dtype, or cannot be written in place.
    """
    if isinstance(out, Mapping):
        given = dict(out)
    elif len(outputs) == 1:
        given = dict.fromkeys(outputs, out)
    else:
        raise DataError(
            f"{name}: out= is one array, and there are {len(outputs)} results",
            fix=f"out={{{next(iter(outputs))!r}: array, ...}}",
        )
    views = {}
    for own, value in given.items():
        if own not in outputs:
            raise DataError(f"{name}: out= names '{own}', and the results are {', '.join(outputs)}")
        views[own] = _view(f"{name}: out '{own}'", value, outputs[own])
    return OutArrays(given, views)


def _view(what: str, value: Any, output: TensorSpec) -> Array:
    if isinstance(value, RaggedArray) != output.varies or not (output.varies or is_array(value)):
        wanted = "a RaggedArray" if output.varies else "an array"
        raise DataError(f"{what} is of type {type(value).__name__}, and {wanted} is needed")
    try:
        view = writable_view(value.values if isinstance(value, RaggedArray) else value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"{what} cannot be written in place", because=str(error)) from error
    if view.dtype != output.dtype.numpy:
        raise DataError(f"{what} holds {view.dtype}, not {output.dtype.value}")
    if not view.flags.writeable:
        raise DataError(f"{what} is read-only")
    if not view.flags.c_contiguous:
        raise DataError(
            f"{what} is not C-contiguous: its strides are {view.strides} bytes", fix="write into a copy"
        )
    if not view.flags.aligned:
        raise DataError(
            f"{what} does not begin at a multiple of an element, {view.itemsize} bytes",
            fix="write into a copy",
        )
    return view


def check_out(
    name: str,
    out: OutArrays,
    shapes: Mapping[str, tuple[int, ...]],
    layouts: Mapping[str, ResultLayout],
    inputs: Mapping[str, Array],
) -> None:
    """Check the arrays of `out=` against a call's results and the memory of its inputs.

    `layouts` are those of ragged results, `shapes` those of others.

    Raises:
        DataError: one has another shape, or shares memory with an input or another one.
    """
    for own, view in out.views.items():
        if own in layouts:
            given, layout = out.own[own], layouts[own]
            if not same_shape(given.extents, layout.extents) or given.padding != layout.padding:
                raise DataError(
                    f"{name}: out '{own}' is no array of the extents and the padding of the result",
                    because="results are written in place",
                    fix="an array that a call with such arguments returned",
                )
        elif view.shape != shapes[own]:
            raise DataError(f"{name}: out '{own}' has the shape {view.shape}, and the result {shapes[own]}")
    early = "a result may be written before the last read of an input"
    taken = [(f"the input '{each}'", value, early) for each, value in inputs.items()]
    for own, view in out.views.items():
        for what, other, because in taken:
            if np.may_share_memory(view, other):  # both are contiguous: their bounds decide
                raise DataError(
                    f"{name}: out '{own}' shares memory with {what}",
                    because=because,
                    fix="write into other memory",
                )
        taken.append((f"out '{own}'", view, "each result has elements of its own"))
