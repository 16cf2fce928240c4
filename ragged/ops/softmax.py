"""Softmax along a dimension of a ragged array."""

from __future__ import annotations

from typing import Unpack

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.values import Value
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.operands import Form, as_ragged, axis_of, float_type, form_of, without
from ragged.ops.rows import fuse_rows


def softmax(x: object, axis: int = -1, **compile_args: Unpack[CompileArgs]) -> RaggedArray:
    """Return exp(x) over its sum along a dimension, a ragged array as `x`, in memory of the caller's.

    The largest element is taken off first. What is all minus infinity gives NaN, as in torch.

    Args:
        x: a ragged array of any dimensions, of one of the floats (`ragged.ops`), which the result is of too.
        axis: the dimension that sums to 1, variable or not, but the batch and those that lengths depend on: for
            attention scores (B, n, m) the last one, for (B, n, F) the features, or with axis=1 each sequence.
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Raises:
        DataError: there is no such dimension, or `x` holds something else.
    """
    array = as_ragged("ragged.ops.softmax", x)
    form = form_of(array)
    place = axis_of("ragged.ops.softmax", axis, form)
    own = form, place, float_type(array)
    function = compiled(("softmax", *own), lambda: _program(*own), Options.of(compile_args))
    result: RaggedArray = function(x=array)
    return result


def _program(form: Form, axis: int, dtype: str) -> RaggedSchedule:
    x = ragged.input_tensor("x", form.declared(), dtype)
    rows = without(x.dims, axis)
    extent = x.dims[axis].extent

    def at(row: tuple[Value, ...], place: Value) -> tuple[Value, ...]:
        return (*row[:axis], place, *row[axis:])

    def row_of(indices: tuple[Value, ...]) -> tuple[Value, ...]:
        return (*indices[:axis], *indices[axis + 1 :])

    most = ragged.compute("most", rows, lambda *i: ragged.max(extent, lambda j: x[at(i, j)]))
    weights = ragged.compute("weights", x.dims, lambda *i: ragged.exp(x[i] - most[row_of(i)]))
    total = ragged.compute("total", rows, lambda *i: 1.0 / ragged.sum(extent, lambda j: weights[at(i, j)]))
    result = ragged.compute("softmax", x.dims, lambda *i: weights[i] * total[row_of(i)], dtype)
    s = ragged.Schedule(result)
    for part in (total, weights, most):
        s.compute_at(part, result.loops[axis - 1])
    if axis > 1:
        fuse_rows(s, result)
    return s
