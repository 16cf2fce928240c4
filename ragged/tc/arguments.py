"""The arguments of a call: arrays by name, their sizes, and results of the kind of the arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged.data.faults.given import conversion
from ragged.data.like import converter, writable_view
from ragged.data.read import is_array, is_integer, read_array
from ragged.errors import DataError
from ragged.ir.expr import Ref, Var
from ragged.tc.checked import CheckedFunction
from ragged.tc.errors import TcError, refuse, refuse_call
from ragged.tc.lower import stored
from ragged.tc.sizes import check_rank, check_scalar, scalars_of, sizes_of
from ragged.tc.types import is_float

Array = npt.NDArray[Any]
_MOST_ELEMENTS = 2**60
"""More than memory has addresses for."""


class OffsetArray(np.ndarray[Any, Any]):
    """A result with indices that do not begin at 0: `lower` has the index of the first element of each dimension."""

    lower: tuple[int, ...]

    def __array_finalize__(self, obj: object) -> None:
        self.lower = (0,) * self.ndim


def named(
    function: CheckedFunction,
    args: Sequence[object],
    given: Mapping[str, object],
    bound: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return arguments by the names of parameters, and those that are bound already.

    Raises:
        TcError: there are too many, or one has no such name or is given twice.
    """
    found = dict(bound or {})
    names = [each.name for each in function.definition.parameters if each.name not in found]
    if len(args) > len(names):
        raise refuse_call(function, f"takes {len(names)} arguments and is given {len(args)}")
    found.update(zip(names, args, strict=False))
    for name, value in given.items():
        if name in found:
            raise refuse_call(function, f"is given '{name}' twice")
        if name not in names:
            raise refuse_call(function, f"has no parameter '{name}'", fix=f"one of {', '.join(names)}")
        found[name] = value
    return found


def read_arguments(
    function: CheckedFunction, given: Mapping[str, object]
) -> tuple[dict[str, Array], dict[Var, int]]:
    """Return a call's arrays by parameter, C-contiguous, and the values of sizes and integer scalars.

    Raises:
        TcError: one is missing, or of another rank, dtype or size.
    """
    require_given(function, given)
    arrays = {name: read_parameter(function, name, given[name]) for name in function.parameters}
    shapes = {name: array.shape for name, array in arrays.items()}
    return arrays, sizes_of(function, shapes, given)


def read_numbers(
    function: CheckedFunction, given: Mapping[str, object]
) -> tuple[dict[str, object], dict[Var, int]]:
    """Return a call's arguments with scalars as the kernel reads them, and the values of the integer ones.

    Raises:
        TcError: an argument is missing, or a scalar is no number of its type.
    """
    require_given(function, given)
    scalars = scalars_of(function, given)
    found = {**given, **{name: scalars[var] for name, var in function.scalars.items()}}
    for name, version in function.parameters.items():
        if version.rank == 0 and not is_array(given[name]):
            found[name] = read_parameter(function, name, given[name])
    return found, scalars


def require_given(function: CheckedFunction, given: Mapping[str, object]) -> None:
    """Raise a `TcError` if an argument is missing."""
    for declared in function.definition.parameters:
        if declared.name not in given:
            raise refuse_call(function, f"is not given '{declared.name}'")


def require_dense(function: CheckedFunction, what: str) -> None:
    """Raise a `TcError` if an argument or a result is ragged, which `what` is not defined for."""
    if function.is_ragged:
        raise refuse(
            f"{what} of '{function.name}' is not defined: extents of its arrays vary", function.definition.at
        )


def read_shapes(function: CheckedFunction, given: Mapping[str, object]) -> dict[str, Sequence[int]]:
    """Return the shapes of parameters, which `given` has by name; those of scalars may be left out.

    Raises:
        TcError: one is missing, or the value of an integer scalar is.
    """
    for name in function.scalars:
        if not isinstance(given.get(name), int | np.integer):
            raise refuse_call(function, f"needs the value of '{name}'", fix=f"infer(..., {name}=3)")
    found: dict[str, Sequence[int]] = {}
    for name, version in function.parameters.items():
        shape = given.get(name, () if version.rank == 0 else None)
        if not isinstance(shape, tuple | list) or not all(
            isinstance(each, int | np.integer) for each in shape
        ):
            raise refuse_call(function, f"needs the shape of '{name}'", fix=f"infer(..., {name}=(2, 3))")
        found[name] = shape
    return found


def fix_sizes(function: CheckedFunction, fixed: dict[str, int], name: str, shape: Sequence[int]) -> None:
    """Add the sizes of a bound array to those that are fixed; refused if they differ, or its rank does."""
    check_rank(function, function.parameters[name], shape)
    for own, extent in zip(function.parameters[name].domain or (), shape, strict=True):
        if isinstance(own.upper, Ref):
            size = own.upper.var.name
            if fixed.setdefault(size, extent) != extent:
                what = f"is given '{name}' with {size} = {extent}, and {size} = {fixed[size]} elsewhere"
                raise refuse_call(function, what)


def read_size(function: CheckedFunction, name: str, value: object) -> int:
    """Return the value of a size, or of an integer scalar; refused if it can be none."""
    if not is_integer(value):
        raise refuse_call(function, f"is given {name} = {value!r}, and it is an integer")
    if not 0 <= value < _MOST_ELEMENTS and name not in function.scalars:
        raise refuse_call(function, f"is given {name} = {value}, and a size is from 0 to 2^60")
    if name in function.scalars:
        check_scalar(function, name, value)
    return int(value)


def read_parameter(function: CheckedFunction, name: str, value: object) -> Array:
    """Return a parameter as an array that the kernel can read, without a copy where its layout allows.

    Raises:
        TcError: it is no array, or of another dtype.
    """
    version = function.parameters[name]
    dtype = stored(version.type).numpy
    if version.rank == 0 and not is_array(value):
        kinds: tuple[type, ...] = (int, float) if is_float(version.type) else (bool,)
        if not isinstance(value, (*kinds, np.generic)):
            raise refuse_call(
                function, f"is given '{version.name}' = {value!r}, and it is of type {version.type}"
            )
        try:
            return np.array(value, dtype)
        except OverflowError as error:
            raise refuse_call(
                function, f"is given '{version.name}' = {value!r}", because=str(error)
            ) from error
    if not is_array(value):
        raise refuse_call(
            function, f"is given '{version.name}' of type {type(value).__name__}, and an array is needed"
        )
    try:
        array = read_array(f"{function.name}: '{version.name}'", value)
    except DataError as error:
        raise refuse_call(function, f"cannot read '{version.name}'", because=str(error)) from error
    if array.dtype != dtype:
        raise refuse_call(
            function,
            f"is given '{version.name}' of {array.dtype}, not {version.type}",
            because="nothing is rounded or cut unasked",
            fix=conversion(value, dtype.name),
        )
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.array(array, order="C")


def like_arguments(value: Array, lower: tuple[int, ...], given: Mapping[str, object]) -> Any:
    """Return a result as the arguments are: the array of the first one's library, with `lower` if that is not all 0."""
    arrays = (each for each in given.values() if is_array(each) and not isinstance(each, np.generic))
    like = next(arrays, value)
    made = None if isinstance(like, np.ndarray) else converter(like)
    own: Any = value if made is None else made(value)
    if any(lower):
        own = own.view(OffsetArray) if isinstance(own, np.ndarray) else own
        own.lower = lower
    return own


def out_arrays(
    function: CheckedFunction, out: object, domains: Mapping[str, tuple[tuple[int, int], ...]]
) -> dict[str, tuple[Any, Array]]:
    """Return the arrays of `out=` by output: as the caller gave them, and as NumPy arrays that share their memory.

    Raises:
        TcError: one is none, or of another shape or dtype, or cannot be written; two share memory; or an output
            that is read before it is written is not given.
    """
    given = by_output(function, out)
    found: dict[str, tuple[Any, Array]] = {}
    for name, value in given.items():
        if name not in function.outputs or (len(function.outputs) > 1 and not isinstance(out, Mapping)):
            raise refuse_call(
                function, f"has the outputs {', '.join(function.outputs)}", fix="out={name: array}"
            )
        what = f"is given out= for '{name}'"
        array = view_of(function, name, value)
        dtype = stored(function.outputs[name].type).numpy
        shape = tuple(extent for _, extent in domains[name])
        if array.shape != shape or array.dtype != dtype:
            raise refuse_call(
                function, f"{what} of {array.dtype}{list(array.shape)}, and it is {dtype}{list(shape)}"
            )
        repeated = array.size and any(n > 1 and not by for n, by in zip(shape, array.strides, strict=True))
        if repeated or not array.flags.writeable:
            raise refuse_call(function, f"{what} that cannot be written")
        for other, (_, own) in found.items():
            if np.shares_memory(own, array):
                raise refuse_call(
                    function, f"{what} that shares memory with out '{other}'", fix="an array for each output"
                )
        found[name] = value, array
    require_started(function, found)
    return found


def by_output(function: CheckedFunction, out: object) -> Mapping[str, object]:
    """Return the arrays of `out=` by the names of outputs; one array is the first one's."""
    if out is None or isinstance(out, Mapping):
        return out or {}
    return {next(iter(function.outputs), ""): out}


def view_of(function: CheckedFunction, name: str, value: object) -> Array:
    """Return a NumPy array that shares the memory of the array of `out=` for an output; refused if there is none."""
    what = f"is given out= for '{name}'"
    if not is_array(value):
        raise refuse_call(function, f"{what} of type {type(value).__name__}, and an array is needed")
    try:
        return writable_view(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise refuse_call(function, f"{what} that cannot be written", because=str(error)) from error


def require_started(function: CheckedFunction, given: Mapping[str, object]) -> None:
    """Raise a `TcError` if an output that is read before it is written is not given."""
    for name in function.initial:
        if name not in given:
            raise _not_started(function, name)


def _not_started(function: CheckedFunction, name: str) -> TcError:
    own = (each for each in function.statements if each.target.name == name)
    first = next(own, None)  # none where a called function reads and writes it by a name of its own
    sign = "=" if first is None else first.source.operator
    return TcError(
        "check",
        f"'{name}' is read before it is written",
        at=function.initial[name].at if first is None else first.at,
        because="it is an output, and the call gives no values for it",
        fix=("" if sign == "=" else f"'{sign}!' starts from the neutral element; or ")
        + f"out= with the values of '{name}'",
    )
