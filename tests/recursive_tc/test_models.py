"""Recursive comprehensions: the models of the library written as texts, other structures, and what is refused."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import cortex
import ragged.tc
from cortex import Node, UserError, models, ra, tc

LIB = tc.define(
    (Path(__file__).resolve().parents[2] / "examples/tc/recursive/trees.tc").read_text(encoding="utf-8")
)
TREES = [((1, 2), 3), (4, 5), (((1, 2), (3, 4)), 5), 6]
SIZES = {"V": 7, "H": 5}


def with_words(tree):
    return Node([with_words(each) for each in tree], word=6) if isinstance(tree, tuple) else Node(word=tree)


@pytest.mark.parametrize(
    ("model", "reference", "trees"),
    [
        (
            LIB.tree_lstm(E=6, **SIZES),
            models.tree_lstm(hidden=5, embed=6, vocab=7),
            [with_words(each) for each in TREES],
        ),
        (LIB.mv_rnn(**SIZES), models.mv_rnn(hidden=5, vocab=7), TREES),
    ],
)
def test_models_of_the_library_have_the_same_bits(model, reference, trees):
    params = reference.init_params(seed=0)
    found, wanted = (cortex.compile(each, params)(trees) for each in (model, reference))
    assert dict(found).keys() == dict(wanted).keys()
    for name in wanted:
        np.testing.assert_array_equal(found[name], wanted[name])


def agrees_with_the_oracle(model, structures):
    params = model.init_params(seed=1)
    found = cortex.compile(model, params)(structures)
    for position, structure in enumerate(structures):
        for name, rows in ra.evaluate(model, params, structure).items():
            np.testing.assert_allclose(found[name][position], rows[-1], rtol=1e-5, atol=1e-6)


def test_a_node_of_two_kinds():
    model = LIB.tree_rnn(**SIZES)
    agrees_with_the_oracle(model, TREES)
    assert "h[n] = h_then if isleaf(n) else h_else" in str(model)


def test_a_dag():
    text = """
    def longest(dag n, float(n,X) x) -> (y) {
      y(n,i) max=! y(k,i) where k in children(n)
      y(n,i) = num_children(n) == 0 ? x(n,i) : y(n,i) + x(n,i)
    }"""
    graph = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3)])
    for node in graph:
        graph.nodes[node]["x"] = np.full(2, 2.0**node, np.float32)
    model = tc.define(text).longest(X=2)
    np.testing.assert_array_equal(cortex.compile(model, {})([graph])["y"], [[13, 13]])


def test_a_sequence_with_a_gate_and_names_for_expressions():
    text = """
    def gated(sequence n, float(n,X) x, float(X,X) W, float(1) rate) -> (float(n,X) y) {
      s(n,i) +=! W(i,j) * y(left(n),j)
      y(n,i) = leaf(n) ? x(n,i) : z * tanh(x(n,i) + s(n,i)) + (1 - z) * fmax(x(n,i), 0) where z = sigmoid(rate(0))
    }"""
    model = tc.define(text).gated(X=4)
    rng = np.random.default_rng(0)
    step = Node(x=rng.standard_normal(4).astype(np.float32))
    for _ in range(3):
        step = Node([step], x=rng.standard_normal(4).astype(np.float32))
    agrees_with_the_oracle(model, [step])


def test_a_sum_that_starts_from_values_and_one_over_two_indices():
    text = """
    def f(tree(3) n, int(n) word, float(V,H) emb, float(H,H) U) -> (h) {
      h(n,i) = emb(word(n),i) / 2
      h(n,i) += U(i,j) * h(k,j) where k in children(n)
    }"""
    agrees_with_the_oracle(tc.define(text).f(V=7, H=3), [with_words(each) for each in TREES])


def test_a_layer_without_recursion():
    model = tc.define("def f(tree n, float(n,X) x) -> (y) { y(n,i) = x(n,i) * x(n,i) }").f(X=2)
    out = cortex.compile(model, {})([Node(x=np.float32([2, 3]))])
    np.testing.assert_array_equal(out["y"], [[4, 9]])


def test_parameters_and_sizes_may_be_called_self():
    text = "def f(tree n, float(n,self) x) -> (h) { h(n,i) = x(n,i) + float(num_children(n)) }"
    fn = cortex.compile(tc.define(text).f(self=2), {})
    x = np.ones((1, 2), np.float32)
    batch = fn.linearize([cortex.Node(x=x[0])])
    np.testing.assert_array_equal(fn(batch.with_payloads(x=2 * x))["h"], 2 * x)


def test_texts_print_and_name_their_sizes():
    again = tc.define(str(LIB))
    assert str(again) == str(LIB) and again.functions == ("tree_rnn", "tree_lstm", "mv_rnn")
    assert LIB.tree_lstm.sizes == ("V", "E", "H")
    assert repr(LIB.mv_rnn).startswith("<RecursiveComprehension def mv_rnn(tree(2) n, int(n) word")
    with pytest.raises(
        AttributeError, match="no function 'lstm': the text defines tree_rnn, tree_lstm, mv_rnn"
    ):
        LIB.lstm  # noqa: B018


HEAD = "def f(tree n, int(n) word, float(V,H) emb, float(H,H) W) -> (h) { "


@pytest.mark.parametrize(
    ("body", "phase", "message"),
    [
        ("h(i) = emb(word(n),i) }", "check", "the first index of 'h' is not the node 'n'"),
        ("h(n,i) = W(i,j) * h(left(n),j) }", "check", "'=' does not specify a reduction"),
        ("h(n,i) +=! W(i,j) * h(k,j) }", "range", "the index 'k' of 'h(n, i) +=! W(i, j) * h(k, j)' has no range"),
        ("h(n,i) +=! h(k,i) where k in children(left(n)) }", "check", "fix: where k in children(n)"),
        ("h(n,i) = W(i,i) + t(n,i) t(n,i) = W(i,i) }", "check", "'t' is read at the node before it is written"),
        ("t(n,i) = W(i,i) h(n,i) = t(left(n),i) }", "check", "'t' is read at a child, and is no output"),
        ("h(n,i) *=! W(i,j) * h(left(n),j) }", "check", "'*=!' reduces no tensor of a recursive function"),
        ("h(n,i) += W(i,i) }", "check", "'+=' starts from the values of 'h', which has none"),
        ("h(n,i) = foo(W(i,i)) }", "check", "'foo' is no tensor or function that is defined here"),
        ("h(n,i) = W(i,j+H) where j in 0:1 }", "check", "'=' does not specify a reduction"),
        ("h(n,i) = W(i+H,i) }", "range", "dimension 0 of 'W' is read at 'i + H', out of bounds for i = 0"),
        ("h(n,i) = W(i+1,i) where i in 0:H }", "check", "'i + 1' may leave dimension 0 of 'W'"),
        ("h(n,i) = W(i,i) where i in 1:H }", "range", "the range of 'i' is no range from 0 up"),
        ("h(n,i) = W(i,i) * n }", "check", "the node 'n' is no number"),
        ("h(n,i) = W(i,i) * word }", "check", "'word' has 1 dimensions and is read at 0 indices"),
        ("h(n,i) = W(i,i) * h(word(n),i) }", "check", "'word(n)' is no node"),
        ("h(n,i) = W(i) }", "check", "'W' has 2 dimensions and is read at 1 indices"),
        ("h(n,i) = leaf(n,i) ? W(i,i) : 0.0 }", "check", "'leaf' takes 1 arguments and is given 2"),
        ("h(n,i,i) = W(i,i) }", "check", "an index stands twice on the left"),
        ("h(n,i) = W(i,i) * a where a = b, b = a }", "check", "'a' is defined by itself"),
        ("h(n,i) = int(W(i,i)) }", "check", "nothing is converted to int in a recursive function"),
        ("h(n,i) = W(i,i) where exists W(i,i) }", "check", "'exists' is no clause of a recursive function"),
        ("h(n,k,i) = W(i,i) where k in children(n) }", "check", "'h' has a value for each child of a node"),
        ("W(n,i) = emb(word(n),i) }", "check", "the output 'h' is never written"),
        ("left(n,i) = emb(word(n),i) }", "check", "'left' is the name of a function"),
        ("H(n,i) = emb(word(n),i) }", "check", "'H' is already defined"),
        ("a, h = g(n) }", "check", "a recursive function calls no other one"),
        ("h(n,i) = W(i,i) * leaf(n) }", "check", "'isleaf(n)' mixes types"),
    ],
)  # fmt: skip
def test_refused_texts(body, phase, message):
    with pytest.raises(tc.TcError) as refused:
        tc.define(HEAD + body).f(V=5, H=4)
    assert refused.value.phase == phase and message in str(refused.value)
    assert refused.value.line == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(float(N) x) -> (y) { y(i) = x(i) }", "'f' runs over no structure"),
        ("def f(tree n, dag m) -> (y) { y(n,i) = 1 }", "a function runs over one structure"),
        ("def f(tree n, float x) -> (y) { y(n,i) = x where i in 0:3 }", "'x' is a number"),
        ("def f(tree n, double(n,X) x) -> (y) { y(n,i) = x(n,i) }", "'x' is of type float64"),
        ("def f(tree n, float(n,X-4) x) -> (y) { y(n,i) = x(n,i) }", "'X - 4' is no extent"),
        ("def f(tree n, float(n,X) x) -> (float(n) y) { y(n,i) = x(n,i) }", "other dimensions than it is written"),
        ("def f(tree n, float(n,X) x) -> (y) { y(n,i) = x(n,i) }\n" * 2, "the function 'f' is already defined"),
    ],
)  # fmt: skip
def test_refused_definitions(text, message):
    with pytest.raises(tc.TcError) as refused:
        function = tc.define(text).f
        function(**dict.fromkeys(function.sizes, 4))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"V": 5}, "f needs the size 'H'"),
        ({"V": 5, "H": 4, "X": 3}, "f has no size 'X'"),
        ({"V": 5, "H": 0}, "f: H=0 is no size"),
        ({"V": 5, "H": True}, "f: H=True is no size"),
    ],
)
def test_refused_sizes(sizes, message):
    function = tc.define(HEAD + "h(n,i) = emb(word(n),i) }").f
    with pytest.raises(UserError, match=message):
        function(**sizes)


def test_texts_that_are_no_strings():
    with pytest.raises(UserError, match="the text is of type int"):
        tc.define(3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "h(n,i) = emb(word(n),i) }", "'f' is recursive: it runs over a tree"),
        ("def f(float(N) x) -> (y) { y(i) +=! x(k) where k in children(n) }", "'k' is an index over nodes"),
    ],
)
def test_functions_of_arrays_have_no_nodes(text, message):
    with pytest.raises(tc.TcError, match=message):
        ragged.tc.define(text)
