"""Convolutions of images of any sizes: padding is a condition on indices, and nothing is copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import DimLike, RaggedTensor
from ragged.api.values import Value
from ragged.data.read import is_array
from ragged.errors import DataError
from ragged.ops.blocks import Declare, widened
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.module import Module
from ragged.ops.operands import float_type, is_from
from ragged.ops.state import Array, Shapes

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
    out: Any = None,
    **compile_args: Unpack[CompileArgs],
) -> Any:
    """Return the cross-correlation of images with filters, as torch.nn.functional.conv2d does.

    A function is compiled for each stride, padding, dilation, number of groups and layout, and serves all sizes.

    Args:
        x: (batch, channels, height, width), or (batch, height, width, channels) in layout NHWC, of one of the floats
            (`ragged.ops`).
        weight: (filters, channels / groups, kernel height, kernel width), or (kernel height, kernel width,
            channels / groups, filters) in layout NHWC; of the same type.
        bias: (filters,), of the same type, or None.
        stride: steps between windows, in height and width.
        padding: zeros around an image, at both ends of height and width.
        dilation: steps between the elements of a window.
        groups: filters of one group read the channels of that group.
        layout: the order of dimensions of `x` and of the result.
        out: an array of the result's shape and type that it is written into, and which is returned.
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Returns:
        (batch, filters, height', width'), or (batch, height', width', filters), in memory of the caller's and of the
        kind and the type of `x`; height' = (height + 2 padding - dilation (kernel height - 1) - 1) // stride + 1.

    Raises:
        DataError: shapes, dtypes or options do not fit together.
    """
    form = _read_form(stride, padding, dilation, groups, layout, bias=bias is not None)
    given = form.filters(weight, bias)
    dtype = float_type(x)
    function = compiled(
        ("conv2d", form, dtype), lambda: conv2d_program(form, dtype=dtype), Options.of(compile_args)
    )
    return form.run(function, x, out, given)


@dataclass(frozen=True, slots=True)
class ConvolutionForm:
    """What a function of a convolution is compiled for; it serves all sizes."""

    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1
    layout: Layout = "NCHW"
    bias: bool = False

    def images(self, x: Any) -> Any:
        """Return images with a dimension of groups, if there are several."""
        return _grouped("x", x, self.groups, 3 if self.layout == "NHWC" else 1)

    def filters(self, weight: Any, bias: Any) -> dict[str, Any]:
        """Return the arguments of filters, in the order of dimensions of the layout, and of the bias."""
        given = {"weight": _grouped("weight", weight, self.groups, 3 if self.layout == "NHWC" else 0)}
        if bias is not None:
            given["bias"] = bias if self.groups == 1 else _grouped("bias", bias, self.groups, 0, rank=1)
        return given

    def run(self, function: ragged.RaggedFunction, x: Any, out: Any, filters: Mapping[str, Any]) -> Any:
        """Return the result for images and filters, without the dimension of groups; `out`, if that is an array."""
        at = 3 if self.layout == "NHWC" else 1
        # dividing a dimension copies nothing
        into = None if out is None else _grouped("out", out, self.groups, at)
        y = function(x=self.images(x), out=into, **filters)
        if self.groups == 1 or out is not None:
            return y if out is None else out
        return y.reshape(*y.shape[:at], y.shape[at] * y.shape[at + 1], *y.shape[at + 2 :])


class Conv2d(Module):
    """The cross-correlation of images with filters that are bound once, with torch.nn.Conv2d's state.

    The filters are kept in the order that the kernel reads; `conv2d` copies them so in each call.

    Example:
        >>> layer = Conv2d(64, 128, 3, padding=1)
        >>> layer.load_state_dict(torch_convolution.state_dict())
        >>> y = layer(images)
    """

    def __init__(
        self,
        channels: int,
        filters: int,
        kernel: int | Pair,
        *,
        stride: int | Pair = 1,
        padding: int | Pair = 0,
        dilation: int | Pair = 1,
        groups: int = 1,
        bias: bool = True,
        layout: Layout = "NCHW",
        **compile_args: Unpack[CompileArgs],
    ) -> None:
        """Take the arguments of `conv2d`, and the numbers of channels and of filters; `DataError` as there."""
        super().__init__(Options.of(compile_args))
        self.form = _read_form(stride, padding, dilation, groups, layout, bias=bias)
        self.kernel = _pair("kernel", kernel, 1)
        for name, value in (("channels", channels), ("filters", filters)):
            if type(value) is not int or value < 1 or value % groups:
                raise DataError(f"{WHAT}: {name}={value!r} are not {groups} groups of as many, from 1 up")
        self.channels, self.filters = channels, filters

    @property
    def shapes(self) -> Shapes:
        """`weight` (filters, channels / groups, kernel height, kernel width) and, with a bias, `bias` (filters,)."""
        bias = {"bias": (self.filters,)} if self.form.bias else {}
        return {"weight": (self.filters, self.channels // self.form.groups, *self.kernel), **bias}

    @property
    def function(self) -> ragged.RaggedFunction:
        """The compiled function, of `x`, which has a dimension of groups if there are several."""
        return self._function(
            "images", self.form, lambda: conv2d_program(self.form, ragged.parameter), self._filters
        )

    def _filters(self, state: Mapping[str, Array]) -> Mapping[str, Array]:
        weight = state["weight"]
        if self.form.layout == "NHWC":
            weight = weight.transpose(2, 3, 1, 0)
        given = self.form.filters(weight, state.get("bias"))
        return {name: np.ascontiguousarray(array) for name, array in given.items()}

    def __call__(self, x: Any, out: Any = None) -> Any:
        """Return the images that `conv2d` returns for `x`, in `out` if that is given; `DataError` as there."""
        return self.form.run(self.function, x, out, {})


def _read_form(
    stride: int | Pair, padding: int | Pair, dilation: int | Pair, groups: int, layout: Layout, *, bias: bool
) -> ConvolutionForm:
    if layout not in ("NCHW", "NHWC"):
        raise DataError(f"{WHAT}: layout={layout!r} is neither 'NCHW' nor 'NHWC'")
    if type(groups) is not int or groups < 1:
        raise DataError(f"{WHAT}: groups={groups!r} is no number from 1 up")
    steps, ends, gaps = (
        _pair("stride", stride, 1),
        _pair("padding", padding, 0),
        _pair("dilation", dilation, 1),
    )
    return ConvolutionForm(steps, ends, gaps, groups, layout, bias)


def conv2d_program(
    form: ConvolutionForm, declare: Declare = ragged.input_tensor, dtype: str = "float32"
) -> RaggedSchedule:
    """Return the operator, with a dimension of groups before channels and filters if there are several.

    `declare` makes the tensors of filters and of the bias.
    """
    stride, padding, dilation, groups = form.stride, form.padding, form.dilation, form.groups
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
    last = form.layout == "NHWC"
    own_channels: list[DimLike] = [*group, (c, channels)]
    own_filters: list[DimLike] = [*group, (f, filters)]
    image: list[DimLike] = [(y, height), (x, width)]
    window: list[DimLike] = [(ky, kh), (kx, kw)]
    place: list[DimLike] = [(y, rows), (x, columns)]
    a = ragged.input_tensor(
        "x", [(n, batch), *image, *own_channels] if last else [(n, batch), *own_channels, *image], dtype
    )
    w = declare(
        "weight",
        [*window, (c, channels), *own_filters] if last else [*own_filters, (c, channels), *window],
        dtype,
    )
    offset = declare("bias", own_filters, dtype) if form.bias else None
    has_border = groups > 1 and any(padding)
    if has_border:
        a = _with_border(a, (1, 2) if last else (3, 4), padding)
    a, w = widened(a), widened(w)

    def element(*indices: Value) -> Value:
        i, *at = indices
        (p, q), own = (at[:2], at[2:]) if last else (at[-2:], at[:-2])
        *of_group, o = own

        def term(channel: Value, u: Value, v: Value) -> Value:
            before = (0, 0) if has_border else padding
            h = p * stride[0] + u * dilation[0] - before[0]
            k = q * stride[1] + v * dilation[1] - before[1]
            factor = w[(u, v, channel, *of_group, o)] if last else w[(*of_group, o, channel, u, v)]
            read = a[(i, h, k, *of_group, channel) if last else (i, *of_group, channel, h, k)]
            if any(before):
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
    return RaggedSchedule(ragged.compute("y", dims, element, dtype), name="conv2d")


def _with_border(images: RaggedTensor, at: Pair, padding: Pair) -> RaggedTensor:
    """Return images with zeros around the dimensions `at`: a product of each group reads them without conditions."""
    ends = dict(zip(at, padding, strict=True))
    dims = [
        (each.dim, each.extent + 2 * ends[position] if position in ends else each.extent)
        for position, each in enumerate(images.dims)
    ]

    def element(*indices: Value) -> Value:
        own = [index - ends.get(position, 0) for position, index in enumerate(indices)]
        (h, height), (w, width) = ((own[position], images.dims[position].extent) for position in at)
        return ragged.where((h >= 0) & (h < height) & ((w >= 0) & (w < width)), images[tuple(own)], 0.0)

    return ragged.compute("bordered", dims, element, images.dtype.computed.value)


def _pair(name: str, value: int | Pair, least: int) -> Pair:
    pair: Any = (value, value) if isinstance(value, int | np.integer) else value
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(is_from(each, least) for each in pair):
        raise DataError(f"{WHAT}: {name}={value!r} is no number from {least} up, nor two of them")
    return int(pair[0]), int(pair[1])


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
