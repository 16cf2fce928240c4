"""Arithmetic on the elements of ragged arrays, with what is broadcast to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import DimLike
from ragged.api.values import Value
from ragged.data.read import is_array, read_array
from ragged.errors import DataError
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.operands import Form, as_ragged, float_type, form_of
from ragged.ops.rows import fuse_vectors

Combine = Callable[[Value, Value], Value]
COMBINE: dict[str, Combine] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": ragged.maximum,
    "minimum": ragged.minimum,
}
_NUMBER = (bool, int, float, np.number)


@dataclass(frozen=True, slots=True)
class Operand:
    """The mapping from an operand's dimensions to their positions among the dimensions of the result.

    A position is None for an extent of 1, which is broadcast. `form` is None for a dense array; its `shape` has the
    constant extents, and None for the batch.
    """

    form: Form | None
    places: tuple[int | None, ...]
    shape: tuple[int | None, ...] = ()


def add(a: object, b: object, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return a + b; arguments as of `ragged.ops.elementwise.elementwise`."""
    return elementwise("add", a, b, Options.of(compile_args))


def sub(a: object, b: object, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return a - b; arguments as of `ragged.ops.elementwise.elementwise`."""
    return elementwise("sub", a, b, Options.of(compile_args))


def mul(a: object, b: object, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return a * b; arguments as of `ragged.ops.elementwise.elementwise`."""
    return elementwise("mul", a, b, Options.of(compile_args))


def div(a: object, b: object, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return a / b, by zero as IEEE 754 has it; arguments as of `ragged.ops.elementwise.elementwise`."""
    return elementwise("div", a, b, Options.of(compile_args))


def maximum(a: object, b: object, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return the larger of each pair of elements; arguments as of `ragged.ops.elementwise.elementwise`."""
    return elementwise("maximum", a, b, Options.of(compile_args))


def minimum(a: object, b: object, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return the smaller of each pair of elements; arguments as of `ragged.ops.elementwise.elementwise`."""
    return elementwise("minimum", a, b, Options.of(compile_args))


def elementwise(op: str, a: object, b: object, options: Options) -> RaggedArray:
    """Return `a op b` for each element of a ragged array, in memory of the caller's.

    Args:
        op: a name in `COMBINE`.
        a: a ragged array of one of the floats (`ragged.ops`); or what is broadcast to the other one's dimensions
            (B, n, ..., F): a number, which is rounded to the other one's type; a dense array (..., F) of the dense
            dimensions after the last variable one, or of the last few of them; one (B, ..., F) for each row of the
            batch, which is one dimension more; or one of all dimensions that extends 1 in the variable ones. Where an
            operand extends 1, ragged ones included, that one element is used.
        b: as `a`, of the same type; one of the two is ragged.
        options: what it is compiled for, once for all lengths and for each number of dimensions and dense extents.

    Raises:
        DataError: no operand is ragged, dimensions do not fit together, lengths differ, or types do.
    """
    what = f"ragged.ops.{op}"
    read = [each if isinstance(each, _NUMBER) else _read(what, each) for each in (a, b)]
    batches = [each for each in read if isinstance(each, RaggedArray)]
    if not batches:
        raise DataError(f"{what}: no operand is ragged", fix="ragged.array(...), or NumPy's own operators")
    dtype = float_type(batches[0])
    form, *others = map(form_of, batches)
    form = _joined(what, form, *others) if others else form
    arrays = [np.asarray(each, dtype) if isinstance(each, _NUMBER) else each for each in read]
    left, right = (_operand(what, array, form) for array in arrays)
    own = form, left, right, dtype
    function = compiled((what, *own), lambda: _program(op, *own, options.lanes(dtype)), options)
    a, b = (array if array.ndim else np.reshape(array, 1) for array in arrays)
    result: RaggedArray = function(a=a, b=b)
    return result


def _read(what: str, value: object) -> RaggedArray | npt.NDArray[Any]:
    if isinstance(value, RaggedArray) or not is_array(value) or getattr(value, "is_nested", False):
        return as_ragged(what, value)
    return read_array(what, value)


def _joined(what: str, a: Form, b: Form) -> Form:
    """Return the dimensions of a result of two ragged arrays."""
    if len(a.extents) != len(b.extents):
        raise DataError(
            f"{what}: one operand has {len(a.extents)} dimensions and the other {len(b.extents)}",
            fix="dimensions of 1 where the other one is to be broadcast",
        )
    extents = []
    for place, (left, right) in enumerate(zip(a.extents, b.extents, strict=True)):
        if left != right and 1 not in (left, right):
            raise DataError(f"{what}: the operands differ in dimension {place}")
        extents.append(right if left == 1 else left)
    return Form(tuple(extents))


def _operand(what: str, array: RaggedArray | npt.NDArray[Any], form: Form) -> Operand:
    if not isinstance(array, RaggedArray):
        return _dense_operand(what, array.shape, form)
    own = form_of(array)
    pairs = enumerate(zip(own.extents, form.extents, strict=True))
    return Operand(own, tuple(None if mine == 1 != theirs else place for place, (mine, theirs) in pairs))


def _dense_operand(what: str, shape: tuple[int, ...], form: Form) -> Operand:
    """Return at which of the result's dimensions a dense array of a shape is read."""
    ndim, trailing = len(form.extents), len(form.extents) - form.dense
    if not shape:
        return Operand(None, (None,), (1,))
    if len(shape) <= trailing:
        places = tuple(range(ndim - len(shape), ndim))
    elif len(shape) == ndim:
        places = tuple(range(ndim))
    elif len(shape) == trailing + 1:
        places = (0, *range(form.dense, ndim))
    else:
        raise DataError(f"{what}: a dense array has {len(shape)} dimensions, the ragged one {ndim}")
    read: list[int | None] = []
    extents: list[int | None] = []
    for place, extent in zip(places, shape, strict=True):
        wanted = form.extents[place]
        if wanted is not None and extent not in (1, wanted):
            raise DataError(
                f"{what}: a dense array of the shape {shape} does not fit dimension {place}",
                because=f"it extends {extent}, and the ragged one "
                + ("varies there" if isinstance(wanted, tuple) else f"{wanted}"),
            )
        broadcast = extent == 1 and place > 0
        read.append(None if broadcast else place)
        extents.append(None if wanted is None else extent)
    return Operand(None, tuple(read), tuple(extents))


def _program(op: str, form: Form, left: Operand, right: Operand, dtype: str, lanes: int) -> RaggedSchedule:
    dims = form.declared()

    def declared(name: str, operand: Operand) -> Callable[[tuple[Value, ...]], Value]:
        if operand.form is not None:
            own: list[DimLike] = [
                dims[k] if place is not None else (ragged.dim(f"one{k}"), 1)
                for k, place in enumerate(operand.places)
            ]
        else:
            own = [
                (ragged.dim(f"{name}{k}"), dims[0][1] if extent is None else extent)
                for k, extent in enumerate(operand.shape)
            ]
        tensor = ragged.input_tensor(name, own, dtype)
        return lambda at: tensor[tuple(0 if place is None else at[place] for place in operand.places)]

    first, second = declared("a", left), declared("b", right)
    result = ragged.compute(op, dims, lambda *at: COMBINE[op](first(at), second(at)), dtype)
    s = ragged.Schedule(result)
    fuse_vectors(s, result, flat=left.form == right.form == form, lanes=lanes)
    return s
