"""What layers are made of: operators over rows of features, and how their loops are arranged."""

from __future__ import annotations

from collections.abc import Callable

import ragged
from ragged.api.schedule import Schedule
from ragged.api.tensors import Tensor
from ragged.api.values import Value
from ragged.ops.activations import Activation, activation

LANES = 64
"""Partial sums of a row of features: as many as some vectors hold, and added up at the end."""


def affine(
    name: str,
    x: Tensor,
    inner: int,
    outer: int,
    act: Activation = None,
    *,
    bias: bool = True,
    residual: Tensor | None = None,
    read: Callable[[Value, Value, Value], Value] | None = None,
) -> Tensor:
    """Compute `act(W x + b)`, and a residual added, for each row of (batch, length, inner): (batch, length, outer).

    Its parameters are `<name>.weight` (outer, inner) and `<name>.bias` (outer). `read` says how an element of `x` is
    read, if not at (batch, length, feature).
    """
    rows = x.dims[:2] if residual is None else residual.dims[:2]
    features, feature = ragged.dim("out"), ragged.dim("in")
    weight = ragged.parameter(f"{name}_weight", [(features, outer), (feature, inner)])
    at = read or (lambda b, t, k: x[b, t, k])
    f = activation(act)

    def element(b: Value, t: Value, o: Value) -> Value:
        total = ragged.sum(inner, lambda k: at(b, t, k) * weight[o, k])
        total = total + offset[o] if bias else total
        total = f(total)
        return total if residual is None else total + residual[b, t, o]

    offset = ragged.parameter(f"{name}_bias", [(features, outer)]) if bias else weight
    return ragged.compute(name, [*rows, (features, outer)], element)


def normalized(name: str, x: Tensor, width: int, eps: float, parts: list[Tensor]) -> Tensor:
    """Compute layer normalization of each row of (batch, length, width), with `<name>_weight` and `<name>_bias`.

    `parts` get the tensors that are computed in its rows, in the order in which to attach them.
    """
    rows, feature = x.dims[:2], ragged.dim("feature")
    lanes = next(count for count in (LANES, 48, 32, 16, 8, 4, 2, 1) if width % count == 0)
    lane = (ragged.dim("lane"), lanes)
    scale = ragged.parameter(f"{name}_weight", [(feature, width)])
    shift = ragged.parameter(f"{name}_bias", [(feature, width)])
    sums = ragged.compute(
        f"{name}_sums",
        [*rows, lane],
        lambda b, t, l: ragged.sum(width // lanes, lambda j: x[b, t, j * lanes + l]),
    )
    mean = ragged.compute(
        f"{name}_mean", rows, lambda b, t: ragged.sum(lanes, lambda l: sums[b, t, l]) * (1.0 / width)
    )
    centred = ragged.compute(f"{name}_centred", x.dims, lambda b, t, i: x[b, t, i] - mean[b, t])
    squares = ragged.compute(
        f"{name}_squares",
        [*rows, lane],
        lambda b, t, l: ragged.sum(
            width // lanes, lambda j: centred[b, t, j * lanes + l] * centred[b, t, j * lanes + l]
        ),
    )
    scaled = ragged.compute(
        f"{name}_scaled",
        rows,
        lambda b, t: 1.0 / ragged.sqrt(ragged.sum(lanes, lambda l: squares[b, t, l]) * (1.0 / width) + eps),
    )
    parts += [scaled, squares, centred, mean, sums]
    return ragged.compute(
        name,
        [*rows, (feature, width)],
        lambda b, t, i: centred[b, t, i] * scaled[b, t] * scale[i] + shift[i],
    )


def attach_rows(s: Schedule, tensor: Tensor, parts: list[Tensor]) -> None:
    """Compute parts in the rows of a tensor."""
    for part in parts:
        s.compute_at(part, tensor.loops[1])


def fuse_rows(s: Schedule, *tensors: Tensor) -> None:
    """Make one loop over all rows of each tensor's batch."""
    for tensor in tensors:
        s.fuse_loops(tensor.loops[0], tensor.loops[1])
