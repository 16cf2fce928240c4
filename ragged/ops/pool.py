"""Pooling: the elements of a dimension, as a rule the variable one, in one."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, Unpack

import numpy.typing as npt

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.values import Value
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.operands import Form, as_ragged, axis_of, float_type, form_of, without
from ragged.ops.rows import fuse_rows

Kind = Literal["sum", "mean", "max"]
Pooled: TypeAlias = "RaggedArray | npt.NDArray[Any]"


def sum_pool(x: object, axis: int = 1, **compile_args: Unpack[CompileArgs]) -> Pooled:
    """Return the sums along a dimension, 0 over none; arguments as of `ragged.ops.pool.pool`."""
    return pool("sum", x, axis, Options.of(compile_args))


def mean_pool(x: object, axis: int = 1, **compile_args: Unpack[CompileArgs]) -> Pooled:
    """Return the means along a dimension, NaN over none, as in torch; arguments as of `ragged.ops.pool.pool`."""
    return pool("mean", x, axis, Options.of(compile_args))


def max_pool(x: object, axis: int = 1, **compile_args: Unpack[CompileArgs]) -> Pooled:
    """Return the largest elements along a dimension, -inf over none; arguments as of `ragged.ops.pool.pool`."""
    return pool("max", x, axis, Options.of(compile_args))


def pool(kind: Kind, x: object, axis: int, options: Options) -> Pooled:
    """Reduce a dimension of `x` by a sum, a mean or a maximum.

    Args:
        kind: "sum", "mean" or "max".
        x: a ragged array of any dimensions, of one of the floats (`ragged.ops`).
        axis: the dimension; not the batch, nor one that lengths of others depend on.
        options: what it is compiled for.

    Returns:
        A ragged array if a dimension still varies, else an array of NumPy's: (B, features) of (B, n, features).
        Elements are of the type of `x`, in memory of the caller's.

    Raises:
        DataError: there is no such dimension, or `x` holds something else.
    """
    what = f"ragged.ops.{kind}_pool"
    array = as_ragged(what, x)
    form = form_of(array)
    place = axis_of(what, axis, form)
    own = form, place, float_type(array)
    function = compiled((what, *own), lambda: _program(kind, *own), options)
    result: Pooled = function(x=array)
    return result


def _program(kind: Kind, form: Form, axis: int, dtype: str) -> RaggedSchedule:
    x = ragged.input_tensor("x", form.declared(), dtype)
    rows, extent = without(x.dims, axis), x.dims[axis].extent
    reduce = ragged.max if kind == "max" else ragged.sum

    def then(total: Value) -> Value:
        return total / extent if kind == "mean" else total

    result = ragged.compute(
        kind, rows, lambda *i: then(reduce(extent, lambda j: x[(*i[:axis], j, *i[axis:])])), dtype
    )
    s = ragged.Schedule(result)
    if 1 < axis == len(x.dims) - 1:
        fuse_rows(s, result)
    return s
