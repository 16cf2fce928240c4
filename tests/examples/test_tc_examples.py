"""The texts of examples/tc, run on small sizes against NumPy."""

from pathlib import Path

import numpy as np
import pytest

from ragged import tc

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tc"
RNG = np.random.default_rng(0)
FUNCTIONS = {}
for path in sorted(FOLDER.glob("*.tc")):
    lib = tc.define(path.read_text(encoding="utf-8"), name=path.name)
    FUNCTIONS.update({name: lib[name] for name in lib.functions})


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def windows(x, kh, kw, stride=1):
    """Return (..., h, w, kh, kw) of (..., H, W)."""
    return np.lib.stride_tricks.sliding_window_view(x, (kh, kw), (-2, -1))[..., ::stride, ::stride, :, :]


def normalized(x, axes, gamma, beta):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gamma + beta


def delayed(x, steps):
    return np.concatenate([np.zeros_like(x[..., :steps]), x[..., : x.shape[-1] - steps]], -1)


def wavenet(d, x, wf, bf, wg, bg, wr, br, ws, bs):
    late = delayed(x, d)
    f, g = (
        np.einsum("brt,cr->bct", x, w[..., 1]) + np.einsum("brt,cr->bct", late, w[..., 0]) + b[:, None]
        for w, b in ((wf, bf), (wg, bg))
    )
    z = np.tanh(f) * sigmoid(g)
    return x + np.einsum("bct,rc->brt", z, wr) + br[:, None], np.einsum("bct,sc->bst", z, ws) + bs[:, None]


def mlp3(x, w2, b2, w3, b3, w4, b4):
    o2 = relu(x @ w2.T + b2)
    o3 = relu(o2 @ w3.T + b3)
    return o2, o3, relu(o3 @ w4.T + b4)


def masked(x, k):
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("nchwpq,fcpq->nfhw", windows(wide, 3, 3), k)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


AT = RNG.integers(0, 9, (3, 5)).astype(np.int32)
CASES = {
    "tmm": ([floats(5, 7), floats(3, 7)], lambda a, b: a @ b.T),
    "tbmm": ([floats(2, 3, 4), floats(2, 5, 4)], lambda x, y: x @ y.transpose(0, 2, 1)),
    "tensordot": (
        [floats(2, 3, 2, 4, 3), floats(2, 2, 4, 4, 3)],
        lambda x, y: np.einsum("nachw,ncbhw->nabhw", x, y),
    ),
    "kronecker1": ([floats(3, 4), floats(2, 3, 2, 4)], lambda w, x: np.einsum("mijk,dk->mijd", x, w)),
    "kronecker2": ([floats(3, 2), floats(2, 3, 2, 4)], lambda w, x: np.einsum("mijk,dj->midk", x, w)),
    "kronecker3": ([floats(2, 3), floats(2, 3, 2, 4)], lambda w, x: np.einsum("mijk,di->mdjk", x, w)),
    "kronecker": (
        [floats(2, 3), floats(3, 2), floats(2, 4), floats(2, 3, 2, 4)],
        lambda a, b, c, x: np.einsum("mijk,ai,bj,ck->mabc", x, a, b, c),
    ),
    "group_convolution": (
        [floats(2, 3, 2, 6, 7), floats(3, 4, 2, 3, 3), floats(3, 4)],
        lambda x, k, b: np.einsum("ngchwpq,gfcpq->ngfhw", windows(x, 3, 3), k) + b[:, :, None, None],
    ),
    "strided_convolution": (
        [floats(2, 3, 8, 7), floats(4, 3, 3, 2)],
        lambda x, k: np.einsum("nchwpq,fcpq->nfhw", windows(x, 3, 2, 2), k),
    ),
    "masked_convolution": ([floats(2, 3, 5, 4), floats(4, 3, 3, 3)], masked),
    "max_pooling": ([floats(2, 3, 7, 6)], lambda x: windows(x, 2, 2, 2).max((-2, -1))),
    "lookup": ([floats(9, 4), AT], lambda t, i: t[i].sum(1)),
    "two_lookups": (
        [floats(9, 4), AT, floats(12, 4), AT[:, :4].copy()],
        lambda t, i, u, j: (t[i].sum(1), u[j].sum(1)),
    ),
    "mlp1": ([floats(5, 7), floats(3, 7), floats(3)], lambda x, w, b: relu(x @ w.T + b)),
    "c3": ([floats(5, 7), floats(3, 7)], lambda x, w: x @ w.T),
    "mlp3": ([floats(5, 8), floats(6, 8), floats(6), floats(4, 6), floats(4), floats(2, 4), floats(2)], mlp3),
    "wavenet_block": (
        [3, floats(2, 4, 9), floats(5, 4, 2), floats(5), floats(5, 4, 2), floats(5), floats(4, 5), floats(4),
         floats(6, 5), floats(6)],
        wavenet,
    ),
    "moments": ([floats(5, 9)], lambda x: (x.mean(1), x.var(1))),
    "layer_norm": ([floats(5, 9), floats(9), floats(9)], lambda x, g, b: normalized(x, (1,), g, b)),
    "group_norm": (
        [floats(2, 3, 2, 4, 3), floats(3, 2), floats(3, 2)],
        lambda x, g, b: normalized(x, (2, 3, 4), g[..., None, None], b[..., None, None]),
    ),
    "softmax": ([floats(4, 6)], softmax),
}  # fmt: skip


def test_every_function_is_run():
    assert set(CASES) == set(FUNCTIONS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_against_numpy(name):
    given, formula = CASES[name]
    wanted = formula(*given)
    found = FUNCTIONS[name].compile(schedule=None)(*given)  # the default schedule has its own tests
    if not isinstance(found, dict):
        found, wanted = {"": found}, (wanted,)
    for each, value in zip(found.values(), wanted, strict=True):
        assert each.shape == value.shape
        np.testing.assert_allclose(each, value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(CASES))
def test_only_rows_that_data_name_are_checked_in_kernels(name):
    unproven = [
        line for line in FUNCTIONS[name].show("checks").splitlines()[1:] if not line.startswith("proven")
    ]
    assert all(line.startswith("checked in the kernel: 0 <= I") for line in unproven)
    assert len(unproven) == {"lookup": 1, "two_lookups": 2}.get(name, 0)
