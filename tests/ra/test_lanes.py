"""Reductions to one number in lanes, scores over pairs of children, and max-plus products in tiles."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cortex
from cortex import Node, ra

N, K = ra.N, ra.K
RNG = np.random.default_rng(0)
REDUCTIONS = {"sum": ra.sum, "max": ra.max}


def vector(width: int) -> np.ndarray:
    return RNG.standard_normal(width).astype(np.float32)


def tree(width: int, depth: int = 3, children: int = 3) -> Node:
    below = [tree(width, depth - 1, 1 + (at + depth) % children) for at in range(children if depth else 0)]
    return Node(below, x=vector(width), gate=int(RNG.integers(2)))


def recursion(width: int, body) -> ra.Model:
    """Return a model of `body(x, h, s, n)`, one number per node; s is a sum over children."""
    x, h = ra.node_input("x", (width,)), ra.placeholder((N, width))
    s = ra.compute((N, width), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h[k, i]), name="s")
    y = ra.compute((N,), lambda n: body(x, h, s, n), name="y")
    return ra.recursion_op(h, ra.compute((N, width), lambda n, i: ra.tanh(s[n, i] * 0.3 + y[n] * 0.1)))


def check(
    model: ra.Model, trees: list[Node], output: str = "h"
) -> cortex.compiler.function.RecursiveFunction:
    """Require the compiled results at all nodes to be the oracle's, with the same bits for one thread and for two."""
    params = model.init_params(seed=1)
    expected = ra.evaluate(model, params, trees)
    functions = [cortex.compile(model, params, threads=threads) for threads in (1, 2)]
    found = [fn(trees)[output] for fn in functions]
    np.testing.assert_allclose(
        found[0], np.stack([each[output][-1] for each in expected]), rtol=2e-5, atol=2e-5
    )
    np.testing.assert_array_equal(found[0], found[1])
    return functions[0]


@pytest.mark.parametrize("width", [31, 32, 35, 63, 80])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions_to_one_number(kind, width):
    reduce = REDUCTIONS[kind]
    fn = check(recursion(width, lambda x, h, s, n: reduce(width, lambda j: s[n, j] * x[n, j])), [tree(width)])
    assert ("y_lanes" in fn.show("loops")) is (width >= 32)


def test_under_a_condition_and_for_each_child():
    def body(x, h, s, n):
        gate = ra.node_input("gate", dtype="int32")
        each = ra.sum_children(n, lambda k: ra.exp(ra.sum(40, lambda j: h[k, j] * x[n, j]) * 0.1))
        return ra.where(gate[n] > 0, ra.sum(40, lambda j: s[n, j]), ra.max(40, lambda j: s[n, j])) + each

    fn = check(recursion(40, body), [tree(40), tree(40, 0), tree(40, 2, 4)])
    assert len(set(re.findall(r"\w+_lanes(?=\w*\[)", fn.show("loops")))) >= 3


def test_what_depends_on_a_dense_index_is_in_none():
    x, h, w = ra.node_input("x", (40,)), ra.placeholder((N, 40)), ra.input_tensor("w", (40, 40))
    s = ra.compute((N, 40), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h[k, i]))
    y = ra.compute((N, 40), lambda n, i: ra.tanh(ra.sum(40, lambda j: w[i, j] * s[n, j])))
    assert "lanes" not in check(ra.recursion_op(h, y), [tree(40)]).show("loops")


def attention(width: int, values: int) -> ra.Model:
    x, h = ra.node_input("x", (values,)), ra.placeholder((N, values))
    q, k = (ra.linear(h, name, out=width, name=name) for name in "qk")
    a = ra.attention_children(q, k, ra.linear(h, "v", out=values, name="v"))
    return ra.recursion_op(
        h, ra.compute((N, values), lambda n, i: ra.tanh(x[n, i] + ra.sum_children(n, lambda c: a[n, c, i])))
    )


@pytest.mark.parametrize(("width", "values"), [(5, 7), (36, 40)])
def test_a_score_is_computed_once_for_all_features(width, values):
    fn = check(attention(width, values), [tree(values), tree(values, 0)])
    lines = fn.show("loops").splitlines()
    weighted = [at for at, line in enumerate(lines) if "= fma(exp(" in line]
    assert weighted
    for at in weighted:
        features = [each[0] == "i" for each in loops_around(lines, at)]
        assert features == sorted(features) and features[-1], "inside of the loops over children"


def loops_around(lines: list[str], at: int) -> list[str]:
    """Return the variables of the loops around a line, outermost first."""
    depth, found = len(lines[at]), []
    for line in reversed(lines[: at + 1]):
        indent = len(line) - len(line.lstrip())
        if indent < depth:
            depth = indent
            found += [line.split()[1]] if line.lstrip().startswith("for ") else []
    return found[::-1]


def test_products_that_a_sum_adds_up_have_a_sum_each():
    x, h, u, v, b = (
        ra.node_input("x", (35,)),
        ra.placeholder((N, 35)),
        ra.input_tensor("u", (35, 35)),
        ra.input_tensor("v", (35, 35)),
        ra.input_tensor("b", (35,)),
    )
    s = ra.compute((N, 35), lambda n, i: ra.sum_children(n, lambda k: h[k, i]), name="s")
    y = ra.compute(
        (N, 35),
        lambda n, i: ra.tanh(ra.sum(35, lambda j: u[i, j] * s[n, j] - v[i, j] * x[n, j] + b[i] / 35) * 0.3),
        name="y",
    )
    model = ra.recursion_op(h, y)
    assert str(model).count("for j < 35") == 3
    check(model, [tree(35), tree(35, 4, 2)])
    w = ra.input_tensor("w", (35,))
    plain = ra.compute(
        (N, 35), lambda n, i: ra.sum(35, lambda j: ra.tanh(x[n, j]) + w[j] * 2.0), name="plain"
    )
    assert str(ra.recursion_op({"plain": plain})).count("for j < 35") == 1


def test_a_guard_of_what_is_nested_keeps_its_index():
    x, h = ra.node_input("x", (40,)), ra.placeholder((N, 40))

    def siblings(n, k, c, i):
        return ra.where(i < 5, ra.sum(36, lambda j: h[k, j] * h[c, j]), 0.5) * h[c, i] * 0.1

    a = ra.compute((N, K, 40), lambda n, k, i: ra.sum_children(n, lambda c: siblings(n, k, c, i)))
    y = ra.compute((N, 40), lambda n, i: ra.tanh(x[n, i] + ra.sum_children(n, lambda k: a[n, k, i])))
    check(ra.recursion_op(h, y), [tree(40), tree(40, 2, 4)])


def test_what_no_index_of_the_compute_changes_has_sixteen_lanes_in_all():
    fn = check(
        ra.recursion_op(
            {"y": ra.compute((N, 40), lambda n, i: ra.sum(40, lambda j: ra.node_input("x", (40,))[n, j]))}
        ),
        [tree(40)],
        "y",
    )
    assert re.findall(r"y_lanes\w* = local\(float32\[(.*?)\]\)", fn.show("loops")) == ["16"]


FORMS = {
    "max-plus": lambda w, s, n, i: ra.max(35, lambda j: w[i, j] + s[n, j]),
    "log-sum-exp": lambda w, s, n, i: ra.log(ra.sum(35, lambda j: ra.exp(w[i, j] + s[n, j]))),
    "distances": lambda w, s, n, i: ra.sum(35, lambda j: ra.abs(w[i, j] - s[n, j])),
    "squares": lambda w, s, n, i: ra.sum(35, lambda j: (w[i, j] - s[n, j]) * (w[i, j] - s[n, j])),
}


@pytest.mark.parametrize("form", FORMS)
def test_reductions_of_a_matrix_and_rows_are_tiled(form):
    x, h, w = ra.node_input("x", (35,)), ra.placeholder((N, 35)), ra.input_tensor("w", (35, 35))
    s = ra.compute((N, 35), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h[k, i]))
    y = ra.compute((N, 35), lambda n, i: ra.tanh(FORMS[form](w, s, n, i) * 0.1))
    fn = check(ra.recursion_op(h, y), [tree(35), tree(35, 4, 2)])
    assert "w_packed" in fn.show("loops")
