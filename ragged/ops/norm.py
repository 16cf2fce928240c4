"""Layer normalization of rows of features."""

from __future__ import annotations

from typing import Any, Unpack

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.lang.types import epsilon_of
from ragged.ops.blocks import Declare, normalized
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.dims import sequences
from ragged.ops.module import Module
from ragged.ops.operands import as_ragged, count_of, float_type, width_of
from ragged.ops.rows import fuse_rows
from ragged.ops.state import Shapes, bound_names


def layer_norm(
    x: object,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    **compile_args: Unpack[CompileArgs],
) -> RaggedArray:
    """Return each row of features less its mean, over its deviation, times `weight` and plus `bias`.

    Args:
        x: (B, n, features), of one of the floats (`ragged.ops`).
        weight: (features,), of the same type, or None.
        bias: (features,), of the same type, or None.
        eps: what is added to the variance.
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Returns:
        (B, n, features) of the type of `x`, in memory of the caller's.

    Raises:
        DataError: shapes or dtypes do not fit together.
    """
    array = as_ragged("ragged.ops.layer_norm: 'x'", x, 3)
    width = width_of("ragged.ops.layer_norm: 'x'", array)
    given = {"norm_weight": weight, "norm_bias": bias}
    own = width, epsilon_of(eps), weight is not None, bias is not None
    dtype = float_type(array)
    function = compiled(
        ("layer_norm", *own, dtype),
        lambda: _program(*own, ragged.input_tensor, dtype),
        Options.of(compile_args),
    )
    result: RaggedArray = function(
        x=array, **{name: value for name, value in given.items() if value is not None}
    )
    return result


class LayerNorm(Module):
    """Layer normalization with torch.nn.LayerNorm's state: `weight` and `bias`, (features,) each.

    Without `affine` it has neither, without `bias` only the weight.
    """

    def __init__(
        self,
        features: int,
        eps: float = 1e-5,
        *,
        affine: bool = True,
        bias: bool = True,
        **compile_args: Unpack[CompileArgs],
    ) -> None:
        super().__init__(Options.of(compile_args))
        self.features, self.eps = count_of("features", features), epsilon_of(eps)
        self.affine, self.bias = affine, affine and bias

    @property
    def shapes(self) -> Shapes:
        """`weight` and `bias`, as far as the layer has them."""
        names = [*(["weight"] if self.affine else []), *(["bias"] if self.bias else [])]
        return {name: (self.features,) for name in names}

    @property
    def function(self) -> ragged.RaggedFunction:
        """The compiled function, of `x`."""
        own = self.features, self.eps, self.affine, self.bias
        return self._function(
            "rows",
            own,
            lambda: _program(*own, ragged.parameter),
            lambda state: bound_names({f"norm.{name}": array for name, array in state.items()}),
        )

    def __call__(self, x: object) -> RaggedArray:
        """Return (B, n, features) of `x` (B, n, features), float32; `DataError` for anything else."""
        result: RaggedArray = self.function(x=as_ragged("LayerNorm: 'x'", x, 3))
        return result


def _program(
    width: int, eps: float, scale: bool, shift: bool, declare: Declare, dtype: str = "float32"
) -> RaggedSchedule:
    x = sequences().rows("x", width, dtype)
    norm = normalized("norm", x, width, eps, scale=scale, shift=shift, declare=declare)
    s = ragged.Schedule(norm.result)
    norm.decide(s)
    fuse_rows(s, norm.result)
    return s
