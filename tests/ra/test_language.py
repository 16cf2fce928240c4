"""What is written in the language, and how it reads when printed."""

import copy
import runpy

import numpy as np
import pytest

from cortex import ra
from cortex.ra.collect import reads
from cortex.ra.expr import IndexVar, Literal
from ragged.errors import ModelError
from ragged.ir.dtype import INDEX, DType
from tests.support.with_torch import needs_torch, torch

N, H = ra.N, 4
x = ra.node_input("x", (H,))
kind = ra.node_input("kind", dtype="int32")


def body(function, shape=(N, H)):
    return ra.compute(shape, function).body


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda n, i: x[n, i] + 1, "x[n, i] + 1.0"),
        (lambda n, i: 1 - x[n, i], "1.0 - x[n, i]"),
        (lambda n, i: (x[n, i] + 1) * 2, "(x[n, i] + 1.0) * 2.0"),
        (lambda n, i: x[n, i] - (x[n, i] - 1), "x[n, i] - (x[n, i] - 1.0)"),
        (lambda n, i: x[n, i] - x[n, i] - 1, "x[n, i] - x[n, i] - 1.0"),
        (lambda n, i: 1 / x[n, i] * 2, "1.0 / x[n, i] * 2.0"),
        (lambda n, i: -(x[n, i] * 2), "-(x[n, i] * 2.0)"),
        (lambda n, i: abs(x[n, i]), "abs(x[n, i])"),
        (lambda n, i: ra.relu(x[n, i]), "maximum(0.0, x[n, i])"),
        (lambda n, i: ra.minimum(1, x[n, i]), "minimum(1.0, x[n, i])"),
        (lambda n, i: x[n, (i + 1) % H], "x[n, (i + 1) % 4]"),
        (lambda n, i: kind[n] / 2, "float(kind[n]) / 2.0"),
        (lambda n, i: kind[n] + x[n, i], "float(kind[n]) + x[n, i]"),
        (lambda n, i: 7 // kind[n], "7 // kind[n]"),
        (lambda n, i: ra.num_children(n) * x[n, i], "float(num_children(n)) * x[n, i]"),
        (
            lambda n, i: ra.where((kind[n] > 0) & (kind[n] <= 5), x[n, i], 0),
            "where((kind[n] > 0) & (kind[n] <= 5), x[n, i], 0.0)",
        ),
        (
            lambda n, i: ra.where(~ra.isleaf(n) | (kind[n] == 0), 1, x[n, i]),
            "where(~isleaf(n) | (kind[n] == 0), 1.0, x[n, i])",
        ),
        (lambda n, i: ra.sum(3, lambda j: x[n, j]), "sum(x[n, j] for j < 3)"),
        (lambda n, i: ra.max(H, lambda j: ra.exp(x[n, j])), "max(exp(x[n, j]) for j < 4)"),
        (lambda n, i: ra.max_children(n, lambda k: x[k, i]), "max(x[k, i] for k in children(n))"),
        (lambda n, i: x[n.child(2), i] + x[n.left, i], "x[n.child(2), i] + x[n.left, i]"),
        (lambda node, a: x[node, a], "x[node, a]"),
        (lambda n, i: np.float32(0.5) * x[n, i], "0.5 * x[n, i]"),
        (lambda n, i: ra.sqrt(ra.log(4)), "sqrt(log(4.0))"),
        (lambda n, i: 0, "0.0"),
    ],
)
def test_an_expression_prints_as_it_is_written(function, text):
    assert body(function).text() == text


@needs_torch
def test_a_function_of_torch_is_refused():
    with pytest.raises(ModelError, match=r"torch\.tanh is given an expression"):
        ra.compute((N, H), lambda n, i: torch.tanh(x[n, i]))


def test_printed_expressions_are_python_that_means_the_same():
    scope = {"x": x, "kind": kind, "where": ra.where, "isleaf": ra.isleaf}
    for text in ("where(~isleaf(n) | (kind[n] == 0) & (kind[n] != 2), 1.0, -x[n, i] * (2.0 - x[n, i]))",):
        again = ra.compute((N, H), lambda n, i, text=text: eval(text, scope | {"n": n, "i": i}))
        assert again.body.text() == text


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (lambda n, i: x[n, i], DType.FLOAT32),
        (lambda n, i: kind[n] + i, INDEX),
        (lambda n, i: kind[n] + 1.0, DType.FLOAT32),
        (lambda n, i: ra.tanh(kind[n]), DType.FLOAT32),
        (lambda n, i: abs(-kind[n]), INDEX),
        (lambda n, i: ra.where(kind[n] > 0, kind[n], 1), INDEX),
        (lambda n, i: ra.where(kind[n] > 0, kind[n], 0.5), DType.FLOAT32),
        (lambda n, i: x[n, i] < 1, DType.BOOL),
        (lambda n, i: ra.sum(H, lambda j: kind[n]), DType.FLOAT32),
    ],
)
def test_types(function, dtype):
    assert body(function).dtype is dtype


def test_expressions_and_tensors_know_their_line():
    tensor = ra.compute((N, H), lambda n, i: x[n, i])  # this line
    assert tensor.at.file == __file__ == tensor.body.at.file
    assert tensor.at.line == tensor.body.at.line


def test_a_compute_is_called_as_it_was_assigned_or_as_it_was_told():
    plain = ra.compute((N, H), lambda n, i: x[n, i])
    named = ra.compute((N, H), lambda n, i: x[n, i], name="other")
    pair = (ra.compute((N, H), lambda n, i: x[n, i]), ra.placeholder((N, H)))
    assert (plain.name, named.name, [one.name for one in pair]) == ("plain", "other", ["", ""])


def test_of_two_on_one_line_none_is_called_as_the_other(tmp_path):
    script = tmp_path / "two.py"
    script.write_text(
        "from cortex import ra\n"
        "W = ra.input_tensor('W', (4, 4)); x = ra.placeholder((ra.N, 4)); a = ra.linear(x, W)\n"
        "b = ra.linear(a, W); c = ra.linear(b, W)\n",
        encoding="utf-8",
    )
    found = runpy.run_path(str(script))
    assert [found[each].name for each in "xabc"] == ["x", "a", "linear", "linear"]


def test_each_compute_has_its_own_node_and_indices():
    a, b = (ra.compute((N, ra.K, H), lambda n, k, i: x[k, i]) for _ in range(2))
    assert a.node is not b.node and a.child.node is a.node
    assert [(index.name, index.extent) for index in a.indices] == [("i", H)]
    assert isinstance(a.indices[0], IndexVar)


def test_numpy_numbers_are_numbers():
    assert isinstance(body(lambda n, i: np.int64(3) + kind[n]).lhs, Literal)
    assert ra.compute((N, np.int64(4)), lambda n, i: x[n, i]).shape == (N, 4)
    assert ra.node_input("y", dtype=np.float32).dtype is DType.FLOAT32


def model_of(function, **options):
    h_ph = ra.placeholder((N, H))
    h = ra.compute((N, H), lambda n, i: function(n, i) + ra.sum_children(n, lambda k: h_ph[k, i]))
    return ra.recursion_op(h_ph, h, **options)


def test_names_in_a_model_are_unique():
    h_ph, c_ph = (ra.placeholder((N, H)) for _ in range(2))
    z = ra.compute((N, H), lambda n, i: x[n, i], name="x")
    h = ra.compute((N, H), lambda n, i: z[n, i] + ra.sum_children(n, lambda k: h_ph[k, i] + c_ph[k, i]))
    c = ra.compute((N, H), lambda n, i: h[n, i], name="h")
    model = ra.recursion_op({"h": (h_ph, h), "c": (c_ph, c)})
    assert [model.names[t] for t in (x, z, h, c, h_ph, c_ph)] == ["x", "x_2", "h", "h_2", "h_ph", "c_ph"]
    assert len(set(model.names.values())) == len(model.names)


def test_computes_stand_after_what_they_read():
    model = model_of(lambda n, i: x[n, i] * ra.num_children(n))
    place = {tensor: at for at, tensor in enumerate(model.tensors)}
    assert all(place[read] < place[body] for body in model.computes for read in reads(body))
    assert model.computes[-1] is model.outputs["h"][1]


def test_one_placeholder_gives_the_output_h():
    model = model_of(lambda n, i: x[n, i])
    assert list(model.outputs) == ["h"] and model.structure == ra.Tree()


def test_parameters_are_drawn_by_their_last_extent_and_do_not_depend_on_each_other():
    W, b = ra.input_tensor("W", (400, 100)), ra.input_tensor("b", (100,))
    table = ra.input_tensor("table", (3,), dtype="int32")
    both = model_of(lambda n, i: W[i, 0] * b[i] + table[0]).init_params(seed=5)
    alone = model_of(lambda n, i: W[i, 0]).init_params(seed=5)
    assert {name: (a.shape, a.dtype.name) for name, a in both.items()} == {
        "W": ((400, 100), "float32"),
        "b": ((100,), "float32"),
        "table": ((3,), "int32"),
    }
    assert abs(both["W"].std() - 0.1) < 0.002 and abs(both["W"].mean()) < 0.002
    assert not both["table"].any()
    np.testing.assert_array_equal(both["W"], alone["W"])
    assert (both["W"] != model_of(lambda n, i: W[i, 0]).init_params(seed=6)["W"]).all()


def test_a_parameter_that_is_one_number_is_an_array_too():
    scale = ra.input_tensor("scale", ())
    model = model_of(lambda n, i: scale[()] * x[n, i])
    params = model.init_params(seed=5)
    assert type(params["scale"]) is np.ndarray and params["scale"].shape == ()


def test_an_unread_result_beside_a_recursive_one_is_an_output_like_any_other():
    h_ph, y_ph = ra.placeholder((N, H)), ra.placeholder((N,))
    h = ra.compute((N, H), lambda n, i: x[n, i] + ra.sum_children(n, lambda k: h_ph[k, i]))
    y = ra.compute((N,), lambda n: ra.sum(H, lambda j: h[n, j]))
    model = ra.recursion_op({"h": (h_ph, h), "y": (y_ph, y)})
    assert list(model.outputs) == ["h", "y"]


def test_a_default_may_be_any_value_that_its_table_has():
    emb = ra.input_tensor("emb", (9, H))
    word = ra.node_input("word", dtype="int32", default=0)
    assert model_of(lambda n, i: emb[word[n], i]).plan().payloads[0].range == (0, 9)


def test_errors_are_model_errors_of_the_user_hierarchy():
    with pytest.raises(ModelError) as caught:
        body(lambda n, i: x[n, i] if x[n, i] > 0 else 0)
    assert caught.value.at.file == __file__


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda: x + kind, "'x' + 'kind'"),
        (lambda: x - 1, "'x' - 1"),
        (lambda: x * x, "'x' * 'x'"),
        (lambda: 2 * x, "2 * 'x'"),
        (lambda: x / 2, "'x' / 2"),
        (lambda: x @ x, "'x' @ 'x'"),
    ],
)
def test_arithmetic_is_of_elements(function, text):
    with pytest.raises(ModelError) as caught:
        function()
    assert str(caught.value).startswith(f"{text}: arithmetic on a whole tensor\n")


def test_a_handle_answers_what_tools_ask_of_any_object():
    node = ra.compute((N, H), lambda n, i: x[n, i]).node
    assert copy.copy(node) is not node
    assert not hasattr(node, "_repr_html_")


def test_the_package_lists_its_names():
    assert dir(ra) == sorted(ra.__all__)
    assert {"tanh", "gelu", "sum_children"} <= set(dir(ra))
    assert all(callable(getattr(ra, name)) for name in ("tanh", "gelu", "erf"))
