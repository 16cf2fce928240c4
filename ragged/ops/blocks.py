"""What layers are made of: operators over rows of features, and how their loops are arranged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value
from ragged.ops.activations import Activation, activation

Declare = Callable[..., RaggedTensor]
"""`ragged.parameter`, for weights that are bound once, or `ragged.input_tensor`, for those of a call."""


def widened(x: RaggedTensor) -> RaggedTensor:
    """Return a tensor in the type that it is computed in: 16-bit floats converted once, not in each product."""
    if x.dtype.computed is x.dtype:
        return x
    return ragged.compute(f"{x.name}_wide", x.dims, lambda *i: x[i], x.dtype.computed.value)


def affine(
    name: str,
    x: RaggedTensor,
    inner: int,
    outer: int,
    act: Activation = None,
    *,
    bias: bool = True,
    residual: RaggedTensor | None = None,
    read: Callable[[Value, Value, Value], Value] | None = None,
    declare: Declare = ragged.parameter,
) -> RaggedTensor:
    """Compute `act(W x + b)`, and a residual added, for each row of (batch, length, inner): (batch, length, outer).

    Its parameters are `<name>_weight` (outer, inner) and `<name>_bias` (outer), of the type of `x`, as the result is.
    `read` says how an element of `x` is read, if not at (batch, length, feature).
    """
    rows = x.dims[:2] if residual is None else residual.dims[:2]
    features, feature = ragged.dim("out"), ragged.dim("in")
    weight = declare(f"{name}_weight", [(features, outer), (feature, inner)], x.dtype)
    offset = declare(f"{name}_bias", [(features, outer)], x.dtype) if bias else None
    at = read or (lambda b, t, k: x[b, t, k])
    f = activation(act)
    if declare is ragged.input_tensor:  # nothing packs it before the call: columns side by side are vectors
        columns = ragged.compute(
            f"{name}_columns", [(feature, inner), (features, outer)], lambda k, o: weight[o, k]
        )
    else:
        columns = None

    def element(b: Value, t: Value, o: Value) -> Value:
        total = ragged.sum(
            inner, lambda k: at(b, t, k) * (weight[o, k] if columns is None else columns[k, o])
        )
        total = total if offset is None else total + offset[o]
        total = f(total)
        return total if residual is None else total + residual[b, t, o]

    return ragged.compute(name, [*rows, (features, outer)], element, x.dtype)


@dataclass(frozen=True, slots=True)
class Normalization:
    """The `result` of a layer normalization, and the tensors that are computed in its rows, last ones first."""

    result: RaggedTensor
    parts: tuple[RaggedTensor, ...]

    def decide(self, s: RaggedSchedule) -> None:
        """Compute all of a row before the next one."""
        for part in self.parts:
            s.compute_at(part, self.result.loops[1])


def normalized(
    name: str,
    x: RaggedTensor,
    width: int,
    eps: float,
    *,
    scale: bool = True,
    shift: bool = True,
    declare: Declare = ragged.parameter,
) -> Normalization:
    """Compute layer normalization of each row of (batch, length, width), by `<name>_weight` and `<name>_bias` (width).

    The parameters and the result are of the type of `x`.
    The variance is the mean of squared differences from the mean, as computed before.
    """
    rows, feature = x.dims[:2], ragged.dim("feature")
    share = 1.0 / max(width, 1)
    weight = declare(f"{name}_weight", [(feature, width)], x.dtype) if scale else None
    bias = declare(f"{name}_bias", [(feature, width)], x.dtype) if shift else None
    mean = ragged.compute(f"{name}_mean", rows, lambda b, t: ragged.sum(width, lambda i: x[b, t, i]) * share)
    centred = ragged.compute(
        f"{name}_centred", [*rows, (feature, width)], lambda b, t, i: x[b, t, i] - mean[b, t]
    )

    def deviation(b: Value, t: Value) -> Value:
        total = ragged.sum(width, lambda i: centred[b, t, i] * centred[b, t, i])
        return ragged.sqrt(total * share + eps)

    inverse = ragged.compute(f"{name}_inverse", rows, lambda b, t: 1.0 / deviation(b, t))

    def element(b: Value, t: Value, i: Value) -> Value:
        value = centred[b, t, i] * inverse[b, t]
        value = value if weight is None else value * weight[i]
        return value if bias is None else value + bias[i]

    result = ragged.compute(name, [*rows, (feature, width)], element, x.dtype)
    return Normalization(result, (inverse, centred, mean))
