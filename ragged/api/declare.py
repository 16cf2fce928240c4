"""Declaring tensors: `input_tensor`, `parameter` and `compute`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragged.api.dims import RaggedDim, affine_sizes, extent_of
from ragged.api.factors import compute_factors
from ragged.api.lanes import place_columns, reduce_rows_in_lanes
from ragged.api.program import with_parts
from ragged.api.reductions import Scoped, normal_form, parameter_names, started_in
from ragged.api.tensors import DimLike, Kind, RaggedTensor, Reduction, TensorDim
from ragged.api.values import Value, ValueLike, as_float, lift, read_dtype, stored
from ragged.api.wide_operands import widen_operands
from ragged.errors import Location, ModelError
from ragged.ir import expr as ir
from ragged.ir.dtype import INDEX, DType
from ragged.ir.walk import subexpressions


def input_tensor(name: str, dims: Sequence[DimLike], dtype: str | DType = "float32") -> RaggedTensor:
    """Declare a tensor that each call is given under `name`.

    Args:
        name: the keyword that calls give it by.
        dims: a (dimension, extent) for each of its dimensions, outermost first. An extent is a number, a `size`, or
            an expression of integers over outer dimensions and `length_fn`s of them.
        dtype: of its elements: "bool", "int8" to "int64", "uint8" to "uint64", "float16", "bfloat16", "float32" or
            "float64". Integers are computed with in int64, floats of 16 bits in float32.

    Example:
        >>> A = input_tensor("A", [(batch, size("B")), (length, n(batch)), (wide, 512)])
    """
    return _declared("input_tensor", Kind.INPUT, name, dims, dtype)


def parameter(name: str, dims: Sequence[DimLike], dtype: str | DType = "float32") -> RaggedTensor:
    """Declare a tensor that is bound once, when the function is compiled, under `name`.

    Its extents are numbers, or sums of multiples of sizes: those are then known when the parameter is bound, and cost a
    call nothing. The compiler may keep it in another layout.

    Example:
        >>> W = parameter("W", [(out, 512), (inner, 512)])
    """
    made = _declared("parameter", Kind.PARAMETER, name, dims, dtype)
    for each in made.dims:
        if affine_sizes(each.extent.expr) is None:
            raise ModelError(
                f"parameter '{name}': extent {each.extent.text()} of '{each.dim.name}' is not known before a call",
                at=made.at,
                fix="declare an input_tensor, or give a number, a size, or a sum of multiples of sizes",
            )
    return made


def compute(
    name: str, dims: Sequence[DimLike], function: Callable[..., ValueLike], dtype: str | DType | None = None
) -> RaggedTensor:
    """Compute a value for each index.

    Args:
        name: how the tensor is called in listings, and among the outputs.
        dims: its dimensions, as for `input_tensor`; those of another tensor may be given as they are.
        function: called once, with an index for each dimension; returns the value there.
        dtype: of its elements, as for `input_tensor`; None is what the value is computed in. A value is converted as by
            `ragged.cast`.

    Example:
        >>> B = compute("B", A.dims, lambda b, t, w: 2 * A[b, t, w])
    """
    at = Location.capture()
    what = f"compute '{name}'"
    own = _dims(what, dims, at)
    names = parameter_names(what, function, len(own), at)
    indices = tuple(map(ir.Var, names))
    given = function(*(Value(ir.Ref(index)) for index in indices))
    value = lift(given)
    if not isinstance(given, Value) and dtype is None and value.dtype is INDEX:
        value = as_float(value)
    if dtype is not None:
        asked = read_dtype(what, dtype)
        value = stored(started_in(value, asked), asked)
    scope = tuple(Scoped(each, index) for each, index in zip(own, indices, strict=True))
    body = normal_form(name, value, scope)
    dtype = body.body.dtype if isinstance(body, Reduction) else body.dtype
    made = RaggedTensor(name, Kind.COMPUTED, dtype, own, indices, body, at)
    for each in with_parts(made):
        widen_operands(each)
        compute_factors(each)
        reduce_rows_in_lanes(each)
        place_columns(each)
    return made


def _declared(what: str, kind: Kind, name: str, dims: Sequence[DimLike], dtype: str | DType) -> RaggedTensor:
    at = Location.capture()
    if not str(name).isidentifier():
        raise ModelError(f"{what}: {name!r} is no name", at=at, fix="a name that a call can give it by")
    what = f"{what} '{name}'"
    return RaggedTensor(name, kind, read_dtype(what, dtype), _dims(what, dims, at), at=at)


def _dims(what: str, dims: Sequence[DimLike], at: Location | None) -> tuple[TensorDim, ...]:
    """Return dimensions as they are declared; each extent may use those before it."""
    found: list[TensorDim] = []
    for each in dims:
        pair: Any = (each.dim, each.extent) if isinstance(each, TensorDim) else each
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], RaggedDim):
            raise ModelError(
                f"{what}: {each!r} is no dimension with its extent",
                at=at,
                fix="(ragged.dim('len'), n(batch))",
            )
        known, extent = {other.dim.var for other in found}, extent_of(pair[1], what)
        for part in subexpressions(extent.expr):
            if isinstance(part, ir.Ref) and part.var not in known:
                raise ModelError(
                    f"{what}: extent {extent.text()} of '{pair[0].name}' depends on '{part.var.name}'",
                    at=at,
                    because="an extent is a function of the dimensions before it",
                    fix=f"put '{part.var.name}' before '{pair[0].name}'",
                )
        if pair[0].var in known:
            raise ModelError(f"{what}: dimension '{pair[0].name}' stands in it twice", at=at)
        found.append(TensorDim(pair[0], extent))
    return tuple(found)
