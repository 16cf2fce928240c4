"""A linear layer over dense arrays, one function for all hidden dimensions."""

from __future__ import annotations

from math import prod
from typing import Any

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.api.values import Value
from ragged.data.like import writable_view
from ragged.data.read import is_array
from ragged.errors import DataError
from ragged.ops.activations import Activation, activation
from ragged.ops.linear import AffineModule


class Dense(AffineModule):
    """`activation(x W^T + b)` for the last dimension of dense arrays, with torch.nn.Linear's state.

    `Linear` does the same for ragged arrays. One function serves layers of all hidden dimensions: they are known when
    the parameters are bound.

    Example:
        >>> layer = Dense(768, 2304)
        >>> layer.load_state_dict(torch_linear.state_dict())
        >>> y = layer(x)
    """

    @property
    def function(self) -> ragged.RaggedFunction:
        """The compiled function, of `x` (rows, inner)."""
        own = self.bias, self.activation
        return self._function("rows", own, lambda: dense_program(*own), lambda state: state)

    def __call__(self, x: Any, out: Any = None) -> Any:
        """Return (..., outer) of `x` (..., inner), float32, of the same library; `DataError` for anything else.

        It is written into `out`, if that is given, which is contiguous where it has not two dimensions.
        """
        if not is_array(x) or not x.ndim:
            raise DataError(
                f"Dense: 'x' is of type {type(x).__name__}, and an array (..., {self.inner}) is needed"
            )
        leading = tuple(x.shape[:-1])
        rows = x if x.ndim == 2 else x.reshape(prod(leading), x.shape[-1])
        if out is not None:
            self.function(x=rows, out=out if x.ndim == 2 else self._rows(out, leading))
            return out
        y = self.function(x=rows)
        return y if x.ndim == 2 else y.reshape(*leading, self.outer)

    def _rows(self, out: Any, leading: tuple[int, ...]) -> Any:
        """Return an array of a result as one of rows, in the same memory."""
        shape = (*leading, self.outer)
        what = f"Dense: out= is no contiguous array of the shape {shape}"
        if not is_array(out) or tuple(out.shape) != shape:
            raise DataError(what)
        try:
            view = writable_view(out)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise DataError(what, because=str(error)) from error
        if not view.flags.c_contiguous:
            raise DataError(what)
        return out.reshape(prod(leading), self.outer)


def dense_program(bias: bool, act: Activation) -> RaggedSchedule:
    """Return the operator: an input `x`, and parameters `weight` and `bias` of symbolic sizes."""
    row, out, inner = ragged.dim("row"), ragged.dim("out"), ragged.dim("inner")
    rows, features, width = ragged.size("rows"), ragged.size("out_features"), ragged.size("in_features")
    x = ragged.input_tensor("x", [(row, rows), (inner, width)])
    weight = ragged.parameter("weight", [(out, features), (inner, width)])
    offset = ragged.parameter("bias", [(out, features)]) if bias else None
    apply = activation(act)

    def product(i: Value, j: Value) -> Value:
        start = None if offset is None else offset[j]
        return ragged.sum(inner, lambda q: x[i, q] * weight[j, q], init=start)

    dims = [(row, rows), (out, features)]
    total = ragged.compute("y" if act is None else "total", dims, product)
    y = total if act is None else ragged.compute("y", dims, lambda i, j: apply(total[i, j]))
    return RaggedSchedule(y, name="dense")
