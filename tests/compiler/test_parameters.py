"""Parameters that do not fit are refused, with everything that is wrong."""

from importlib import import_module

import numpy as np
import pytest
import torch

import cortex
import ragged
from cortex import models, ra
from ragged.errors import ModelError

MODEL = models.tree_fc(3, 5)


def message(params):
    with pytest.raises(cortex.ModelError) as caught:
        cortex.compile(MODEL, params)
    return str(caught.value)


def changed(**changes):
    params = {**MODEL.init_params(), **changes}
    return {name: array for name, array in params.items() if array is not None}


def test_missing_extra_and_misshapen():
    text = message(changed(b=None, bias=np.zeros(3, np.float32), W=np.zeros((6, 3), np.float32)))
    assert "'b' (3,) is missing" in text
    assert "'bias' is no parameter of the model" in text
    assert "'W' has shape (6, 3), not (3, 6)" in text


def test_another_width():
    text = message(changed(b=np.zeros(3, np.float64)))
    assert text.splitlines()[0] == "parameter 'b' is of dtype float64, not float32"
    assert "fix: convert it: .astype(numpy.float32), .to(torch.float32)" in text


def test_lists_have_the_declared_dtype():
    params = MODEL.init_params()
    lists = {name: array.tolist() for name, array in params.items()}
    found, want = (cortex.compile(MODEL, each)((1, (2, 3)))["h"] for each in (lists, params))
    np.testing.assert_array_equal(found, want)


def test_a_list_of_integers_is_taken_for_floats():
    found, want = (
        cortex.compile(MODEL, changed(b=b))((1, (2, 3)))["h"] for b in ([1, 0, 2], np.float32([1, 0, 2]))
    )
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("number", [2**40, 2**62, -(2**31) - 1])
def test_a_list_of_numbers_that_int32_cannot_hold(number):
    table, word, h_ph = (
        ra.input_tensor("table", (2,), "int32"),
        ra.node_input("word", dtype="int32"),
        ra.placeholder((ra.N,)),
    )
    h = ra.compute((ra.N,), lambda n: table[word[n]] + ra.sum_children(n, lambda k: h_ph[k]))
    model = ra.recursion_op(h_ph, h)
    with pytest.raises(cortex.ModelError, match=f"'table' holds {number}, which int32 cannot hold"):
        cortex.compile(model, {"table": [number, 1]})


def test_a_list_of_numbers_that_float32_cannot_hold():
    assert "'b' holds 1e+300, which float32 cannot hold" in message(changed(b=[1.0, 1e300, 2.0]))


def test_a_module_is_no_model():
    with pytest.raises(cortex.UserError, match="compile: a Linear of PyTorch is no model"):
        cortex.compile(torch.nn.Linear(2, 2), MODEL.init_params())


def test_another_kind():
    assert "'b' is of dtype int32, not float32" in message(changed(b=np.zeros(3, np.int32)))


@pytest.mark.parametrize(
    "params", [torch.nn.Linear(3, 3), None, [np.zeros(3)]], ids=["module", "None", "list"]
)
def test_no_mapping(params):
    lines = message(params).splitlines()
    assert lines[0] == f"the parameters of the model are of type {type(params).__name__}, not a mapping"
    assert lines[-1] == "  fix: give a dict of arrays; of a torch.nn.Module module.state_dict()"


def test_nothing_is_half_done():
    fn = cortex.compile(MODEL, MODEL.init_params())
    before = fn((1, 2))["h"]
    with pytest.raises(cortex.ModelError):
        fn.with_params(changed(b=None))
    np.testing.assert_array_equal(fn((1, 2))["h"], before)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"keep": "leaves"}, "compile: keep='leaves' is neither 'nodes' nor 'roots'"),
        ({"threads": 0}, "threads=0 is not a number of workers"),
    ],
)
def test_other_arguments(arguments, what):
    with pytest.raises(cortex.UserError) as caught:
        cortex.compile(MODEL, MODEL.init_params(), **arguments)
    assert caught.value.what == what


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_floats_of_16_bits_are_widened(dtype):
    narrow = {name: torch.from_numpy(array).to(dtype) for name, array in MODEL.init_params().items()}
    wide = cortex.compile(MODEL, {name: tensor.float() for name, tensor in narrow.items()})
    np.testing.assert_array_equal(cortex.compile(MODEL, narrow)((1, 2))["h"], wide((1, 2))["h"])
    np.testing.assert_array_equal(wide.with_params(narrow)((1, 2))["h"], wide((1, 2))["h"])


@pytest.mark.parametrize(
    "tensor, fix",
    [
        (torch.empty(3, device="meta"), "a tensor with data: one on the device 'meta' has none"),
        (torch.zeros(3).to_sparse(), "`tensor.to_dense()`"),
        (torch.zeros(3).to(torch.float8_e4m3fn), "`tensor.float()`"),
        (torch.zeros(3, dtype=torch.complex64).conj(), "`tensor.resolve_conj().resolve_neg()`"),
    ],
    ids=["without data", "sparse", "of 8 bits", "conjugate"],
)
def test_a_tensor_that_numpy_cannot_read(tensor, fix):
    lines = message(changed(b=tensor)).splitlines()
    assert lines[0] == "parameter 'b' cannot be read as an array: it is a Tensor"
    assert lines[-1] == f"  fix: give {fix}"


def test_parameters_are_checked_before_anything_is_compiled(monkeypatch):
    recursive, rowwise = map(import_module, ("cortex.compiler.compile", "ragged.api.compile"))
    monkeypatch.setattr(recursive, "kernel_of", lambda *_, **__: pytest.fail("it compiles"))
    model = models.tree_sum(hidden=4, vocab=7)
    with pytest.raises(ModelError, match=r"'emb' .* is missing"):
        cortex.compile(model, {})
    monkeypatch.setattr(rowwise, "find_or_generate", lambda *_, **__: pytest.fail("it compiles"))
    row = ragged.dim("row")
    weight = ragged.parameter("W", [(row, 3)])
    with pytest.raises(ModelError, match=r"'W' has shape \(4,\), not \(3,\)"):
        ragged.compile(
            ragged.compute("Y", [(row, 3)], lambda i: 2 * weight[i]), {"W": np.ones(4, np.float32)}
        )
