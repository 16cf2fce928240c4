"""Convolutions of images of any sizes: padding is a condition on indices, and nothing is copied."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import DimLike
from ragged.api.values import Value
from ragged.data.read import is_array
from ragged.errors import DataError
from ragged.ops.compiled import Options, compiled

Layout: TypeAlias = Literal["NCHW", "NHWC"]
Pair: TypeAlias = tuple[int, int]
WHAT = "ragged.ops.conv2d"


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: int | Pair = 1,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
    layout: Layout = "NCHW",
    target: str = "cpu",
    threads: int | None = None,
) -> Any:
    """Return the cross-correlation of images with filters, as torch.nn.functional.conv2d does.

    A function is compiled for each stride, padding, dilation, number of groups and layout, and serves all sizes.

    Args:
        x: float32, (batch, channels, height, width), or (batch, height, width, channels) in layout NHWC.
        weight: (filters, channels / groups, kernel height, kernel width), or (kernel height, kernel width,
            channels / groups, filters) in layout NHWC.
        bias: (filters,), or None.
        stride: steps between windows, in height and width.
        padding: zeros around an image, at both ends of height and width.
        dilation: steps between the elements of a window.
        groups: filters of one group read the channels of that group.
        layout: the order of dimensions of `x` and of the result.
        target: as `ragged.compile` takes it.
        threads: the same.

    Returns:
        (batch, filters, height', width'), or (batch, height', width', filters), in memory of the caller's and of the
        kind of `x`; height' = (height + 2 padding - dilation (kernel height - 1) - 1) // stride + 1.

    Raises:
        DataError: shapes, dtypes or options do not fit together.
    """
    if layout not in ("NCHW", "NHWC"):
        raise DataError(f"{WHAT}: layout={layout!r} is neither 'NCHW' nor 'NHWC'")
    steps, ends, gaps = (
        _pair("stride", stride, 1),
        _pair("padding", padding, 0),
        _pair("dilation", dilation, 1),
    )
    if type(groups) is not int or groups < 1:
        raise DataError(f"{WHAT}: groups={groups!r} is no number from 1 up")
    last = layout == "NHWC"
    images, filters = (
        _grouped("x", x, groups, 3 if last else 1),
        _grouped("weight", weight, groups, 3 if last else 0),
    )
    function = compiled(
        ("conv2d", steps, ends, gaps, groups, layout, bias is None),
        lambda: conv2d_program(steps, ends, gaps, groups, layout, bias=bias is not None),
        Options(target, threads),
    )
    given = (
        {} if bias is None else {"bias": bias if groups == 1 else _grouped("bias", bias, groups, 0, rank=1)}
    )
    y = function(x=images, weight=filters, **given)
    if groups == 1:
        return y
    at = 3 if last else 1
    return y.reshape(*y.shape[:at], y.shape[at] * y.shape[at + 1], *y.shape[at + 2 :])


def conv2d_program(
    stride: Pair, padding: Pair, dilation: Pair, groups: int, layout: Layout, *, bias: bool
) -> RaggedSchedule:
    """Return the operator, with a dimension of groups before channels and filters if there are several."""
    names = ("batch", "group", "filter", "y", "x", "channel", "ky", "kx")
    n, g, f, y, x, c, ky, kx = (ragged.dim(name) for name in names)
    batch, filters, channels, kh, kw, height, width = (
        ragged.size(name) for name in ("N", "F", "C", "KH", "KW", "H", "W")
    )
    group: list[DimLike] = [(g, groups)] if groups > 1 else []
    rows, columns = (
        (size + (2 * end - gap * (window - 1) - 1)) // step + 1
        for size, window, step, end, gap in zip(
            (height, width), (kh, kw), stride, padding, dilation, strict=True
        )
    )
    last = layout == "NHWC"
    own_channels: list[DimLike] = [*group, (c, channels)]
    own_filters: list[DimLike] = [*group, (f, filters)]
    image: list[DimLike] = [(y, height), (x, width)]
    window: list[DimLike] = [(ky, kh), (kx, kw)]
    place: list[DimLike] = [(y, rows), (x, columns)]
    a = ragged.input_tensor(
        "x", [(n, batch), *image, *own_channels] if last else [(n, batch), *own_channels, *image]
    )
    w = ragged.input_tensor(
        "weight", [*window, (c, channels), *own_filters] if last else [*own_filters, (c, channels), *window]
    )
    offset = ragged.input_tensor("bias", own_filters) if bias else None

    def element(*indices: Value) -> Value:
        i, *at = indices
        (p, q), own = (at[:2], at[2:]) if last else (at[-2:], at[:-2])
        *of_group, o = own

        def term(channel: Value, u: Value, v: Value) -> Value:
            h = p * stride[0] + u * dilation[0] - padding[0]
            k = q * stride[1] + v * dilation[1] - padding[1]
            factor = w[(u, v, channel, *of_group, o)] if last else w[(*of_group, o, channel, u, v)]
            read = a[(i, h, k, *of_group, channel) if last else (i, *of_group, channel, h, k)]
            if any(padding):
                inside = (h >= 0) & (h < height) & ((k >= 0) & (k < width))
                read = ragged.where(inside, read, 0.0)
            return read * factor

        total = (
            ragged.sum((ky, kx, c), lambda u, v, channel: term(channel, u, v))
            if last
            else ragged.sum((c, ky, kx), term)
        )
        return total if offset is None else total + offset[(*of_group, o)]

    dims = [(n, batch), *place, *own_filters] if last else [(n, batch), *own_filters, *place]
    return RaggedSchedule(ragged.compute("y", dims, element), name="conv2d")


def _pair(name: str, value: int | Pair, least: int) -> Pair:
    pair: Any = (value, value) if isinstance(value, int) else value
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(type(v) is int and v >= least for v in pair):
        raise DataError(f"{WHAT}: {name}={value!r} is no number from {least} up, nor two of them")
    return pair


def _grouped(name: str, value: Any, groups: int, at: int, rank: int = 4) -> Any:
    """Return an array with its dimension `at` as two, groups and what belongs to each."""
    if not is_array(value):
        raise DataError(f"{WHAT}: '{name}' is of type {type(value).__name__}, and an array is needed")
    if groups == 1:
        return value
    if value.ndim != rank or value.shape[at] % groups:
        raise DataError(
            f"{WHAT}: '{name}' of the shape {tuple(value.shape)} has no {groups} groups in dimension {at}"
        )
    return value.reshape(*value.shape[:at], groups, value.shape[at] // groups, *value.shape[at + 1 :])
