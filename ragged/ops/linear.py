"""Rows of features through a matrix: linear layers."""

from __future__ import annotations

from typing import Any, Unpack

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.data.read import read_array
from ragged.errors import DataError
from ragged.ops.activations import Activation, activation_of
from ragged.ops.blocks import Declare, affine
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.dims import sequences
from ragged.ops.module import Module
from ragged.ops.operands import as_ragged, count_of, float_type
from ragged.ops.rows import fuse_rows
from ragged.ops.state import Shapes, bound_names


def linear(
    x: object,
    weight: Any,
    bias: Any = None,
    activation: Activation = None,
    **compile_args: Unpack[CompileArgs],
) -> RaggedArray:
    """Return `activation(x W^T + b)` for each row of `x`, in memory of the caller's.

    Weights are read as they stand; `Linear` binds them once, in the layout that is best, and is faster.

    Args:
        x: (B, n, inner), of one of the floats (`ragged.ops`).
        weight: (outer, inner), of the same type, as torch.nn.Linear has it.
        bias: (outer,), of the same type, or None.
        activation: "relu", "gelu" (by the error function) or None.
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Returns:
        (B, n, outer), of the type of `x`.

    Raises:
        DataError: shapes or dtypes do not fit together.
        ModelError: the activation is none of these.
    """
    array = as_ragged("ragged.ops.linear: 'x'", x, 3)
    matrix = read_array("ragged.ops.linear: 'weight'", weight)
    if matrix.ndim != 2:
        raise DataError(f"ragged.ops.linear: 'weight' has {matrix.ndim} dimensions, not (outer, inner)")
    outer, inner = matrix.shape
    given = {"linear_weight": matrix} | ({} if bias is None else {"linear_bias": bias})
    own = inner, outer, activation, bias is not None
    dtype = float_type(array)
    function = compiled(
        ("linear", *own, dtype),
        lambda: _program(*own, ragged.input_tensor, dtype),
        Options.of(compile_args),
    )
    result: RaggedArray = function(x=array, **given)
    return result


class AffineModule(Module):
    """`activation(x W^T + b)`, with torch.nn.Linear's state: `weight` (outer, inner), `bias` (outer)."""

    def __init__(
        self,
        inner: int,
        outer: int,
        *,
        bias: bool = True,
        activation: Activation = None,
        **compile_args: Unpack[CompileArgs],
    ) -> None:
        super().__init__(Options.of(compile_args))
        self.inner, self.outer = count_of("inner", inner), count_of("outer", outer)
        self.bias, self.activation = bias, activation_of(activation)

    @property
    def shapes(self) -> Shapes:
        """`weight` and, with a bias, `bias`."""
        bias = {"bias": (self.outer,)} if self.bias else {}
        return {"weight": (self.outer, self.inner), **bias}


class Linear(AffineModule):
    """`activation(x W^T + b)` for each row of ragged arrays, with torch.nn.Linear's state.

    Example:
        >>> layer = Linear(512, 2048, activation="relu")
        >>> layer.load_state_dict(torch_linear.state_dict())
        >>> y = layer(x)
    """

    @property
    def function(self) -> ragged.RaggedFunction:
        """The compiled function, of `x`."""
        own = self.inner, self.outer, self.activation, self.bias
        return self._function(
            "rows",
            own,
            lambda: _program(*own, ragged.parameter),
            lambda state: bound_names({f"linear.{name}": array for name, array in state.items()}),
        )

    def __call__(self, x: object) -> RaggedArray:
        """Return (B, n, outer) of `x` (B, n, inner), float32; `DataError` for anything else."""
        result: RaggedArray = self.function(x=as_ragged("Linear: 'x'", x, 3))
        return result


def _program(
    inner: int, outer: int, act: Activation, bias: bool, declare: Declare, dtype: str = "float32"
) -> RaggedSchedule:
    x = sequences().rows("x", inner, dtype)
    result = affine("linear", x, inner, outer, act, bias=bias, declare=declare)
    s = ragged.Schedule(result)
    fuse_rows(s, result)
    return s
