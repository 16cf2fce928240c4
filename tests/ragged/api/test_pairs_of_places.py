"""Reductions for each pair of places of a sequence, as scores and distances: their rows are tiled by default."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragged

TERMS = 20
BATCH, SIZE = ragged.dim("batch"), ragged.size("batches")
T, U, HEAD, TERM, OUT = (ragged.dim(name) for name in ("t", "u", "head", "term", "out"))
N, M = (ragged.length_fn(name, over=BATCH) for name in ("n", "m"))
ROWS, COLUMNS = (T, N(BATCH)), (U, M(BATCH))
X = ragged.input_tensor("x", [(BATCH, SIZE), ROWS, (TERM, TERMS)])
Z = ragged.input_tensor("z", [(BATCH, SIZE), COLUMNS, (TERM, TERMS)])
H = ragged.input_tensor("x", [(BATCH, SIZE), ROWS, (HEAD, 3), (TERM, TERMS)])
W = ragged.input_tensor("w", [(OUT, 5), (TERM, TERMS)])


def computed(dims, element):
    return ragged.compute("y", [(BATCH, SIZE), *dims], element)


def dot(b, i, j):
    return ragged.sum(TERMS, lambda d: X[b, i, d] * Z[b, j, d])


def squared(x):
    return ragged.sum(TERMS, lambda d: x(d) * x(d))


def softmax():
    s = ragged.compute("s", [(BATCH, SIZE), ROWS, COLUMNS], dot)
    top = ragged.compute("top", [(BATCH, SIZE), ROWS], lambda b, i: ragged.max(M(b), lambda j: s[b, i, j]))
    e = ragged.compute("e", s.dims, lambda b, i, j: ragged.exp(s[b, i, j] - top[b, i]))
    total = ragged.compute("total", top.dims, lambda b, i: ragged.sum(M(b), lambda j: e[b, i, j]))
    return computed([ROWS, COLUMNS], lambda b, i, j: e[b, i, j] / total[b, i])


def squares(x):
    return (x * x).sum(-1)


PROGRAMS = {
    "scores": (lambda: computed([ROWS, COLUMNS], dot), lambda x, z, w: x @ z.T),
    "columns first": (
        lambda: computed([COLUMNS, ROWS], lambda b, j, i: dot(b, i, j)),
        lambda x, z, w: z @ x.T,
    ),
    "expression": (
        lambda: computed([ROWS, COLUMNS], lambda b, i, j: ragged.tanh(dot(b, i, j) * 0.1) + X[b, i, 0]),
        lambda x, z, w: np.tanh(x @ z.T * 0.1) + x[:, :1],
    ),
    "distances": (
        lambda: computed(
            [ROWS, COLUMNS],
            lambda b, i, j: ragged.sum(TERMS, lambda d: ragged.abs(X[b, i, d] - Z[b, j, d])),
        ),
        lambda x, z, w: np.abs(x[:, None] - z).sum(-1),
    ),
    "squared distances": (
        lambda: computed(
            [ROWS, COLUMNS],
            lambda b, i, j: squared(lambda d: X[b, i, d] - Z[b, j, d]),
        ),
        lambda x, z, w: squares(x[:, None] - z),
    ),
    "largest sums": (
        lambda: computed(
            [ROWS, COLUMNS], lambda b, i, j: ragged.max(TERMS, lambda d: X[b, i, d] + Z[b, j, d])
        ),
        lambda x, z, w: (x[:, None] + z).max(-1),
    ),
    "cosines": (
        lambda: computed(
            [ROWS, COLUMNS],
            lambda b, i, j: (
                dot(b, i, j) / ragged.sqrt(squared(lambda d: X[b, i, d]) * squared(lambda d: Z[b, j, d]))
            ),
        ),
        lambda x, z, w: x @ z.T / np.sqrt(squares(x)[:, None] * squares(z)),
    ),
    "softmax": (
        softmax,
        lambda x, z, w: np.array([np.exp(s - s.max()) / np.exp(s - s.max()).sum() for s in x @ z.T]),
    ),
    "largest of a row": (
        lambda: computed([ROWS], lambda b, i: ragged.max(M(b), lambda j: dot(b, i, j))),
        lambda x, z, w: (x @ z.T).max(1),
    ),
    "sum of largest": (
        lambda: computed([], lambda b: ragged.sum(N(b), lambda i: ragged.max(M(b), lambda j: dot(b, i, j)))),
        lambda x, z, w: (x @ z.T).max(1).sum(),
    ),
    "rows last": (
        lambda: computed(
            [(OUT, 5), ROWS],
            lambda b, e, i: ragged.maximum(ragged.sum(TERMS, lambda d: W[e, d] * X[b, i, d]), 0.0),
        ),
        lambda x, z, w: np.maximum(w @ x.T, 0),
    ),
    "heads": (
        lambda: computed(
            [(HEAD, 3), ROWS, COLUMNS],
            lambda b, h, i, j: ragged.sum(TERMS, lambda d: H[b, i, h, d] * Z[b, j, d]),
        ),
        lambda x, z, w: np.einsum("thd,ud->htu", x, z),
    ),
}
COMPILED = {}


def functions(name):
    if name not in COMPILED:
        program = PROGRAMS[name][0]
        COMPILED[name] = [
            ragged.compile(program(), schedule=None, threads=1),
            *(ragged.compile(program(), threads=threads) for threads in (1, 3)),
        ]
    return COMPILED[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_are_tiled_by_default(name):
    rule = functions(name)[1].rules[0]
    assert rule.rule == "tile_rows_of_sequences" and "s.tile_rows(" in rule.applied[0]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(PROGRAMS)),
    st.lists(st.tuples(st.integers(0, 70), st.integers(1, 40)), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_results_agree_with_numpy_and_have_the_bits_of_the_program_as_written(name, lengths, seed):
    random = np.random.default_rng(seed)
    heads = (3,) if name == "heads" else ()
    xs = [random.standard_normal((n, *heads, TERMS), np.float32) for n, _ in lengths]
    zs = [random.standard_normal((m, TERMS), np.float32) for _, m in lengths]
    w = random.standard_normal((5, TERMS), np.float32)
    as_written, *scheduled = functions(name)
    arrays = {"x": ragged.array(xs), "z": ragged.array(zs), "w": w}
    given = {each.name: arrays[each.name] for each in as_written.signature.inputs}
    found = as_written(**given)
    for got, x, z in zip(found, xs, zs, strict=True):
        want = PROGRAMS[name][1](x.astype(np.float64), z.astype(np.float64), w.astype(np.float64))
        np.testing.assert_allclose(np.asarray(got), want.reshape(np.shape(got)), rtol=1e-4, atol=1e-4)
    bits = [np.asarray(getattr(y, "values", y)).tobytes() for y in (found, *(f(**given) for f in scheduled))]
    assert len(set(bits)) == 1


@pytest.mark.parametrize(
    ("element", "dims"),
    [
        (lambda b, i, j: ragged.sum(3, lambda d: X[b, i, d] * Z[b, j, d]), [ROWS, COLUMNS]),
        (
            lambda b, i, j: ragged.sum(
                TERMS, lambda d: ragged.where(X[b, i, d] > Z[b, j, d], X[b, i, d], Z[b, j, d])
            ),
            [ROWS, COLUMNS],
        ),
        (lambda b, i, e: ragged.sum(TERMS, lambda d: X[b, i, d] * W[e, d]), [ROWS, (OUT, 5)]),
    ],
    ids=["few terms", "an operand of both places", "a number of columns"],
)
def test_what_is_left_to_loops(element, dims):
    rule = ragged.compile(computed(dims, element), threads=1).rules[0]
    assert rule.rule == "tile_rows_of_sequences" and not rule.applied


def test_where_rows_differ_parts_stay_in_their_expression():
    def best(b):
        return ragged.sum(
            N(b),
            lambda i: ragged.max(i + 1, lambda j: ragged.sum(TERMS, lambda d: X[b, i, d] * X[b, j, d])),
        )

    f = ragged.compile(computed([], best), threads=1)
    assert not f.rules[0].applied and "differs between rows" in f.rules[0].refused[0].reason
    xs = [np.random.default_rng(n).standard_normal((n, TERMS), np.float32) for n in (3, 40)]
    want = [sum((x @ x.T)[i, : i + 1].max() for i in range(len(x))) for x in xs]
    np.testing.assert_allclose(f(x=ragged.array(xs)), want, rtol=1e-5)


def test_results_keep_the_names_of_their_dimensions():
    assert str(functions("scores")[1].signature).endswith("-> y: float32[batch, t, u]")


def test_rows_inside_of_two_dimensions():
    count = ragged.length_fn("count", over=BATCH)
    item = ragged.dim("item")
    size = ragged.length_fn("size", over=(BATCH, item))
    outer = [(BATCH, SIZE), (item, count(BATCH))]
    x = ragged.input_tensor("x", [*outer, (T, size(BATCH, item)), (TERM, TERMS)])
    y = ragged.compute(
        "y",
        [*outer, (T, size(BATCH, item)), (U, size(BATCH, item))],
        lambda b, k, i, j: ragged.sum(TERMS, lambda d: x[b, k, i, d] * x[b, k, j, d]),
    )
    f = ragged.compile(y, threads=2)
    assert f.rules[0].applied
    random = np.random.default_rng(0)
    data = [
        [random.standard_normal((n, TERMS), np.float32) for n in own] for own in ((3, 40), (), (0, 1, 65))
    ]
    found = f(x=ragged.array(data))
    for own, xs in zip(found, data, strict=True):
        for got, each in zip(own, xs, strict=True):
            np.testing.assert_allclose(got, each @ each.T, rtol=1e-4, atol=1e-4)
