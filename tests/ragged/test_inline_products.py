"""Several sums of products in one expression: each is a nest with tiles of its own."""

import numpy as np
import pytest

import ragged


@pytest.mark.parametrize("columns", [96, None])
def test_two_sums_of_one_expression_have_tiles(columns):
    r, c, k = map(ragged.dim, "rck")
    rows, width = ragged.size("M"), ragged.size("N") if columns is None else columns
    x = ragged.input_tensor("x", [(r, rows), (k, 64)])
    a, g = (ragged.input_tensor(name, [(k, 64), (c, width)]) for name in "ag")
    y = ragged.compute(
        "y",
        [(r, rows), (c, width)],
        lambda i, j: (
            ragged.sum(64, lambda q: x[i, q] * a[q, j])
            * ragged.sigmoid(ragged.sum(64, lambda q: x[i, q] * g[q, j]))
        ),
    )
    function = ragged.compile(ragged.Schedule(y), threads=1)
    random = np.random.default_rng(0)
    data = [random.standard_normal(shape, np.float32) for shape in ((48, 64), (64, 96), (64, 96))]
    want = (data[0] @ data[1]) / (1 + np.exp(-(data[0] @ data[2])))
    np.testing.assert_allclose(function(x=data[0], a=data[1], g=data[2]), want, rtol=1e-4, atol=1e-4)
    assert function.show("loops").count("scope=register") >= 2


def attention(gate):
    """Return `gate(attention, G, row)` of ragged rows, and the inputs' names."""
    b, t, u, w = map(ragged.dim, "btuw")
    n = ragged.length_fn("n", over=b)
    q, k, v, g = (ragged.input_tensor(name, [(b, ragged.size("B")), (t, n(b)), (w, W)]) for name in "QKVG")
    s = ragged.compute(
        "S", [*q.dims[:2], (u, n(b))], lambda i, j, m: ragged.sum(W, lambda p: q[i, j, p] * k[i, m, p])
    )
    return ragged.compute(
        "Y",
        q.dims,
        lambda i, j, e: gate(ragged.sum(n(i), lambda m: s[i, j, m] * v[i, m, e]), lambda p: g[i, j, p]),
    )


W = 8
GATES = {
    "times a sum": (lambda o, g: o * ragged.sum(W, g), lambda o, g: o * g.sum(1, keepdims=True)),
    "minus a maximum": (lambda o, g: o - ragged.max(W, g), lambda o, g: o - g.max(1, keepdims=True)),
}


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_reduction_beside_one_in_tiles_is_of_every_row(name, threads):
    """What a row reads of another reduction was computed for the first row of a tile only."""
    gate, reference = GATES[name]
    function = ragged.compile(attention(gate), threads=threads)
    random, lengths = np.random.default_rng(0), [37, 0, 5, 1]
    data = {each: random.standard_normal((sum(lengths), W), np.float32) for each in "QKVG"}
    found = function(**{each: ragged.array(rows, lengths=lengths) for each, rows in data.items()})
    parts = [np.split(data[each], np.cumsum(lengths)[:-1]) for each in "QKVG"]
    want = np.concatenate([reference((q @ k.T) @ v, g) for q, k, v, g in zip(*parts, strict=True)])
    np.testing.assert_allclose(np.concatenate([np.asarray(row) for row in found]), want, rtol=1e-4, atol=1e-3)


def test_rows_that_something_was_put_into_are_not_tiled():
    y = attention(lambda o, g: o * g(0))
    b, t = y.dims[:2]
    z = ragged.compute("Z", [b, t], lambda i, j: ragged.sum(W, lambda p: y[i, j, p]))
    out = ragged.compute("R", y.dims, lambda i, j, e: y[i, j, e] - z[i, j])
    s = ragged.Schedule(out)
    s.compute_at(z, out.loops[1])
    with pytest.raises(ragged.errors.ScheduleError, match="has been decided on"):
        s.tile_rows(out.dims[1], 4)
