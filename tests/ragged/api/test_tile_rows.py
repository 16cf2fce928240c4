"""Rows in tiles: attention that is written by hand computes in vectors what each row alone reads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragged
from ragged.api.schedule import RaggedSchedule
from ragged.errors import ScheduleError

HEADS, WIDTH = 2, 5
FORMS = ("plain", "bias", "causal", "window", "cross", "triangle")


def attention(form, extra=False):
    """Return attention over sequences, (batch, length, heads, width); `extra`: with its scores as a result too."""
    batch, size = ragged.dim("batch"), ragged.size("batches")
    length, key, head, wide = (ragged.dim(name) for name in ("len", "key", "head", "wide"))
    n = ragged.length_fn("n", over=batch)
    m = ragged.length_fn("m", over=batch) if form == "cross" else n
    rows = [(batch, size), (length, n(batch)), (head, HEADS), (wide, WIDTH)]
    columns = [(batch, size), (key, m(batch)), (head, HEADS), (wide, WIDTH)] if form == "cross" else rows
    q, k, v = (
        ragged.input_tensor(name, dims) for name, dims in (("q", rows), ("k", columns), ("v", columns))
    )
    bias = None
    if form == "bias":
        bias = ragged.input_tensor("bias", [(batch, size), (length, n(batch)), (key, m(batch))])

    def score(b, h, t, u):
        s = ragged.sum(WIDTH, lambda d: q[b, t, h, d] * k[b, u, h, d]) * WIDTH**-0.5
        if bias is not None:
            s = s + bias[b, t, u]
        seen = {"causal": u <= t, "window": abs(t - u) <= 2}.get(form)
        return s if seen is None else ragged.where(seen, s, float("-inf"))

    last = length + 1 if form == "triangle" else m(batch)
    S = ragged.compute("S", [(batch, size), (head, HEADS), (length, n(batch)), (key, last)], score)

    def seen(f, b, t, term):
        return f(t + 1 if form == "triangle" else m(b), term)

    E = ragged.compute(
        "E",
        S.dims,
        lambda b, h, t, u: ragged.exp(S[b, h, t, u] - seen(ragged.max, b, t, lambda x: S[b, h, t, x])),
    )
    P = ragged.compute(
        "P", S.dims, lambda b, h, t, u: E[b, h, t, u] / seen(ragged.sum, b, t, lambda x: E[b, h, t, x])
    )
    y = ragged.compute(
        "y", rows, lambda b, t, h, d: seen(ragged.sum, b, t, lambda u: P[b, h, t, u] * v[b, u, h, d])
    )
    return (y, S) if extra else y


def oracle(form, q, k, v, bias):
    scores = np.einsum("thd,uhd->htu", q.astype(np.float64), k) * WIDTH**-0.5
    scores = scores if bias is None else scores + bias
    t, u = np.indices(scores.shape[1:])
    hidden = {"causal": u > t, "triangle": u > t, "window": abs(t - u) > 2}.get(form, np.zeros(t.shape, bool))
    scores = np.where(hidden, -np.inf, scores)
    if not scores.size:
        return np.zeros(q.shape)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("htu,uhd->thd", e / e.sum(-1, keepdims=True), v)


@pytest.fixture(scope="module")
def functions():
    made = {}

    def of(form):
        if form not in made:
            made[form] = ragged.compile(attention(form), threads=2)
        return made[form]

    return of


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(FORMS), st.lists(st.integers(0, 70), max_size=5), st.integers(0, 2**32 - 1))
def test_attention_by_hand_agrees_with_numpy(functions, form, lengths, seed):
    random = np.random.default_rng(seed)
    others = [max(1, n - 3) for n in lengths] if form == "cross" else lengths
    Q, K, V = (
        [random.standard_normal((n, HEADS, WIDTH), np.float32) for n in each]
        for each in (lengths, others, others)
    )
    given = {"q": ragged.array(Q), "k": ragged.array(K), "v": ragged.array(V)} if lengths else None
    if given is None:
        return
    B = [None] * len(lengths)
    if form == "bias":
        B = [random.standard_normal((n, n), np.float32) for n in lengths]
        given["bias"] = ragged.array(B)
    for got, *arrays in zip(functions(form)(**given), Q, K, V, B, strict=True):
        np.testing.assert_allclose(got, oracle(form, *arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_tiled_by_default(functions, form):
    rule = functions(form).rules[0]
    assert rule.rule == "tile_rows_of_sequences"
    if form == "triangle":
        assert not rule.applied and "differs between rows" in rule.refused[0].reason
    else:
        assert "s.tile_rows(" in rule.applied[0] and "tile_rows_of_sequences" in functions(form).explain()


def test_a_schedule_of_its_user_is_left_as_it_is():
    own = RaggedSchedule(attention("plain"))
    own.fuse_dimensions(*own.outputs[0].dims[:2])
    assert all(each.rule != "tile_rows_of_sequences" for each in ragged.compile(own, threads=1).rules)
    as_written = ragged.compile(attention("plain"), schedule=None, threads=1)
    assert "tile" not in as_written.show("loops")


def test_a_result_that_is_computed_with_the_rows_stays():
    both = RaggedSchedule(*attention("plain", extra=True))
    y = both.outputs[0]
    both.tile_rows(y.dims[1], 8)
    f = ragged.compile(both, threads=1)
    random = np.random.default_rng(0)
    Q, K, V = ([random.standard_normal((n, HEADS, WIDTH), np.float32) for n in (3, 0, 17)] for _ in "qkv")
    found = f(q=ragged.array(Q), k=ragged.array(K), v=ragged.array(V))
    for got, *arrays in zip(found["y"], Q, K, V, strict=True):
        np.testing.assert_allclose(got, oracle("plain", *arrays, None), rtol=1e-4, atol=1e-5)


def test_what_is_refused():
    own = RaggedSchedule(attention("triangle"))
    with pytest.raises(ScheduleError, match="tile_rows: cannot tile 'len' of 'y'"):
        own.tile_rows(own.outputs[0].dims[1], 32)
    assert own.log() == ""
