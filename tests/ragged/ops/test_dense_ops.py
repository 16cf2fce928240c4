"""Products, convolutions and layers over dense arrays of any sizes, against NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ragged.errors import DataError
from ragged.ops import Conv2d, Dense, batch_matmul, conv2d, matmul

SIDES = st.sampled_from([0, 1, 2, 7, 15, 16, 17, 49])


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape and got.dtype == np.float32
    assert np.abs(got - want).max(initial=0.0) <= 1e-5 * max(1.0, np.abs(want).max(initial=0.0))


@settings(max_examples=25)
@given(SIDES, SIDES, st.sampled_from([0, 1, 15, 767]), st.booleans(), st.booleans())
def test_matmul(m, n, k, transpose_a, transpose_b):
    a, b = drawn(m, k), drawn(k, n, seed=1)
    left, right = (a.T.copy() if transpose_a else a), (b.T.copy() if transpose_b else b)
    want = a.astype(np.float64) @ b.astype(np.float64)
    close(matmul(left, right, transpose_a=transpose_a, transpose_b=transpose_b), want)


@settings(max_examples=25)
@given(st.integers(0, 3), SIDES, SIDES, st.sampled_from([0, 1, 15, 64]), st.booleans(), st.booleans())
def test_batch_matmul(batch, m, n, k, transpose_a, transpose_b):
    a, b = drawn(batch, m, k), drawn(batch, k, n, seed=1)
    left = a.swapaxes(1, 2).copy() if transpose_a else a
    right = b.swapaxes(1, 2).copy() if transpose_b else b
    want = a.astype(np.float64) @ b.astype(np.float64)
    close(batch_matmul(left, right, transpose_a=transpose_a, transpose_b=transpose_b), want)


def test_tensors_and_out():
    a, b = torch.from_numpy(drawn(5, 8)), torch.from_numpy(drawn(8, 9))
    product = matmul(a, b)
    assert isinstance(product, torch.Tensor) and torch.allclose(product, a @ b, atol=1e-5)
    out = torch.empty(5, 9)
    assert matmul(a, b, out=out) is out and torch.equal(out, product)
    assert isinstance(batch_matmul(a[None], b[None]), torch.Tensor)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolutions_into_an_array(groups, layout):
    x = drawn(2, 7, 6, 4) if layout == "NHWC" else drawn(2, 4, 7, 6)
    w = drawn(6, 4 // groups, 3, 3)
    layer = Conv2d(4, 6, 3, groups=groups, layout=layout, bias=False, threads=1)
    layer.load_state_dict({"weight": w})
    wanted = layer(x)
    for out in (np.empty_like(wanted), torch.empty(wanted.shape)):
        assert layer(x, out=out) is out and np.array_equal(out, wanted)
    wide = np.zeros((*wanted.shape[:-1], 2 * wanted.shape[-1]), np.float32)[..., ::2]
    filters = w.transpose(2, 3, 1, 0).copy() if layout == "NHWC" else w
    if groups == 1:
        assert conv2d(x, filters, groups=groups, layout=layout, out=wanted) is wanted
    for out in (wide[:1], 5, wanted[..., None]):
        with pytest.raises(DataError):
            layer(x, out=out)


def test_layers_into_an_array():
    layer, x = Dense(8, 5, threads=1), drawn(2, 3, 8)
    layer.load_state_dict({"weight": drawn(5, 8), "bias": drawn(5)})
    for rows in (x, x[0]):
        for out in (np.empty((*rows.shape[:-1], 5), np.float32), torch.empty(*rows.shape[:-1], 5)):
            assert layer(rows, out=out) is out and np.array_equal(out, layer(rows))
    learned = torch.empty(2, 3, 5, requires_grad=True)
    for out in (np.empty((3, 2, 5), np.float32).swapaxes(0, 1), np.empty((2, 3, 4), np.float32), 5, learned):
        with pytest.raises(DataError, match="Dense: out= is no contiguous array of the shape"):
            layer(x, out=out)


def test_matrices_that_do_not_fit():
    with pytest.raises(
        DataError, match="matmul: 'b' extends 9 in dimension 'inner', and matmul: 'a' has K = 8"
    ):
        matmul(drawn(5, 8), drawn(9, 5))
    with pytest.raises(DataError, match="batch_matmul: 'a' has 2 dimensions, not 3"):
        batch_matmul(drawn(5, 8), drawn(1, 8, 5))
    with pytest.raises(DataError, match="'b' holds float32, not float64"):
        matmul(np.zeros((2, 2)), np.zeros((2, 2), np.float32))
    with pytest.raises(DataError, match="'a' holds int64, not float32"):
        matmul(np.zeros((2, 2), np.int64), np.zeros((2, 2), np.float32))


@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_dense_layers_of_several_widths(activation):
    apply = {None: lambda x: x, "relu": torch.relu, "gelu": torch.nn.functional.gelu}[activation]
    functions = []
    for inner, outer in ((24, 20), (767, 17), (1, 49)):
        module = torch.nn.Linear(inner, outer)
        layer = Dense(inner, outer, activation=activation, threads=2)
        layer.load_state_dict(module.state_dict())
        functions.append(layer.function._parts.kernel)
        for shape in ((7,), (2, 3), ()):
            x = torch.from_numpy(drawn(*shape, inner))
            with torch.inference_mode():
                want = apply(module(x)).numpy()
            found = layer(x)
            assert isinstance(found, torch.Tensor)
            close(found.numpy(), want)
            close(layer(x.numpy()), want)
    assert functions[0] is functions[1] is functions[2], "compiled once for all widths"
    empty = Dense(0, 4, activation=activation)
    empty.load_state_dict({"weight": np.zeros((4, 0), np.float32), "bias": np.ones(4, np.float32)})
    assert empty(np.zeros((2, 3, 0), np.float32)).shape == (2, 3, 4)
    with pytest.raises(DataError, match="'x' extends 24 in dimension 'inner'"):
        layer(drawn(3, 24))


CASES = [
    {},
    {"stride": (2, 1), "padding": (1, 2), "dilation": (2, 1)},
    {"padding": 1, "groups": 2},
]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("options", CASES, ids=str)
def test_conv2d(options, layout):
    groups, bias = options.get("groups", 1), layout == "NHWC"
    for batch, channels, filters, size, window in ((2, 4, 8, (9, 7), (3, 3)), (1, 8, 4, (5, 12), (1, 2))):
        x, w = drawn(batch, channels, *size), drawn(filters, channels // groups, *window, seed=1)
        b = drawn(filters, seed=2) if bias else None
        tensors = [None if each is None else torch.from_numpy(each).double() for each in (x, w, b)]
        want = torch.nn.functional.conv2d(*tensors, **options).numpy()
        if layout == "NHWC":
            x, w, want = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), want.transpose(0, 2, 3, 1)
        close(conv2d(x.copy(), w.copy(), b, layout=layout, threads=2, **options), want)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("options", CASES, ids=str)
def test_filters_that_are_bound_give_the_same_bits(options, layout):
    groups, functions = options.get("groups", 1), []
    for channels, filters, window, bias in ((4, 8, (3, 3), True), (8, 4, (1, 2), True)):
        module = torch.nn.Conv2d(channels, filters, window, bias=bias, **options)
        layer = Conv2d(channels, filters, window, bias=bias, layout=layout, threads=2, **options)
        layer.load_state_dict(module.state_dict())
        functions.append(layer.function._parts.kernel)
        x, w = drawn(2, channels, 9, 7), module.weight.detach().numpy()
        with torch.inference_mode():
            want = module(torch.from_numpy(x)).numpy()
        if layout == "NHWC":
            x, w, want = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), want.transpose(0, 2, 3, 1)
        x, w = x.copy(), w.copy()
        close(layer(x), want)
        np.testing.assert_array_equal(
            layer(x), conv2d(x, w, module.bias.detach(), layout=layout, threads=2, **options)
        )
        assert layer.state_dict()["weight"].shape == (filters, channels // groups, *window)
    assert functions[0] is functions[1], "compiled once for all sizes"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"channels": 5, "groups": 2}, "channels=5 are not 2 groups of as many"),
        ({"filters": 0}, "filters=0 are not 1 groups"),
        ({"kernel": 0}, "kernel=0 is no number from 1 up"),
        ({"stride": (1, 2, 3)}, "stride="),
        ({"layout": "NCWH"}, "layout='NCWH' is neither"),
    ],
)
def test_what_is_no_layer_of_convolutions(arguments, message):
    with pytest.raises(DataError, match=message):
        Conv2d(**{"channels": 4, "filters": 6, "kernel": 3, **arguments})


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_filters_are_packed_by_panels(groups, layout):
    """Not the image, as rows of a sequence are: its extents are of sizes, if not sums of them."""
    layer = Conv2d(32, 32, 3, padding=1, groups=groups, layout=layout, threads=1)
    layer.load_state_dict({"weight": drawn(32, 32 // groups, 3, 3), "bias": drawn(32)})
    assert "weight_packed" in layer.function.show("loops")
    assert "tile_rows" not in layer.function.show("schedule")


def test_conv2d_of_tensors_and_of_nothing():
    x, w = torch.from_numpy(drawn(2, 4, 5, 5)), torch.from_numpy(drawn(6, 4, 3, 3))
    found = conv2d(x, w, padding=1)
    assert isinstance(found, torch.Tensor)
    assert torch.allclose(found, torch.nn.functional.conv2d(x, w, padding=1), atol=1e-4)
    assert conv2d(x[:0], w).shape == (0, 6, 3, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stride": 0}, "stride=0 is no number from 1 up"),
        ({"padding": -1}, "padding=-1 is no number from 0 up"),
        ({"groups": 3}, r"'x' of the shape \(1, 4, 5, 5\) has no 3 groups in dimension 1"),
        ({"layout": "CHWN"}, "layout='CHWN' is neither 'NCHW' nor 'NHWC'"),
        (
            {"weight": drawn(6, 3, 3, 3)},
            "'weight' extends 3 in dimension 'channel', and conv2d: 'x' has C = 4",
        ),
        (
            {"weight": drawn(6, 4, 7, 3)},
            r"'y' would have the shape \(1, 6, -1, 3\), and no extent is negative",
        ),
        ({"x": [1.0]}, "'x' is of type list"),
    ],
)
def test_what_is_no_convolution(change, message):
    with pytest.raises(DataError, match=message):
        conv2d(**{"x": drawn(1, 4, 5, 5), "weight": drawn(6, 4, 3, 3), **change})


def test_numbers_of_a_convolution_may_be_those_of_numpy():
    x, w = (np.arange(n, dtype=np.float32) for n in (72, 18))
    x, w = x.reshape(2, 1, 6, 6), w.reshape(2, 1, 3, 3)
    wanted = conv2d(x, w, stride=(2, 1), padding=1)
    found = conv2d(x, w, stride=(np.int64(2), np.int32(1)), padding=np.int8(1))
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(DataError, match="stride=True is no number from 1 up"):
        conv2d(x, w, stride=True)
