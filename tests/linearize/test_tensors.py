"""Numbers in memory, of NumPy and torch: read as the reference reads them, and borrowed where they are."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import torch

from cortex.ilir.plan import Payload, Presence
from cortex.linearize import Linearized, Linearizer, Node
from ragged.ir.dtype import DType
from tests.linearize.support import TREE, carrying, check_against_reference, vector


def rows(result: Linearized | str, payload: str) -> np.ndarray:
    """Return the values of a payload in post-order."""
    assert isinstance(result, Linearized), result
    return result.payloads[payload][result.rows]


INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("word", [0, 7])
def test_words_in_memory(dtype, word):
    tensor = torch.tensor(word, dtype=dtype)
    for value in (tensor, tensor.numpy(), tensor.numpy()[()], torch.stack([tensor, tensor + 1])[0]):
        assert rows(check_against_reference(TREE, Node(word=value)), "word").tolist() == [word]


@pytest.mark.parametrize(
    "value",
    [
        np.array(True),
        np.array(2**63, np.uint64),
        np.array(2**40),
        np.array(-1),
        np.array(7, ">i4"),
        np.array([1]),
        np.array(1.0),
        np.ma.masked_array(1, mask=True),
        np.int64(2**40),
        torch.tensor(True),
        torch.tensor(2**40),
        torch.tensor(-1),
        torch.tensor(1.0),
        torch.tensor([1, 2]),
    ],
    ids=str,
)
def test_odd_words_are_what_the_reference_says(value):
    check_against_reference(TREE, Node(word=value))
    check_against_reference(TREE, Node([Node(word=1)], word=value))


FLOATS = carrying(Payload("weight", DType.FLOAT32, (), Presence.ALL, 0.0, None))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32])
def test_scalar_floats(dtype):
    value = torch.tensor(2.5, dtype=dtype)
    read = check_against_reference(FLOATS, Node(weight=value))
    assert isinstance(read, Linearized) == (dtype is torch.float32)


X = carrying(vector())
IMAGINARY = torch.conj(torch.tensor([1 + 2j, 3 + 4j, 5 + 6j])).imag  # torch negates what is in its memory


@pytest.mark.parametrize(
    "value",
    [
        torch.arange(12.0).reshape(4, 3)[2],
        torch.arange(12.0).reshape(3, 4)[:, 1],
        torch.arange(1.0).expand(3),
        torch.ones(3, requires_grad=True),
        torch.ones(6, requires_grad=True)[::2],
        torch.nn.Parameter(torch.ones(3)),
        IMAGINARY,
        IMAGINARY.clone(),
        torch.ones(3, dtype=torch.float64),
        torch.ones(3, dtype=torch.bfloat16),
        torch.ones(1, 3),
        torch.ones(4),
        torch.ones(3).to_sparse(),
        torch.ones(3, device="meta"),
        [0.5, 1.5, 1e300],
        [0.5, 1.5, float("inf")],
        [0.5, True, 1.5],
        (0.5, 1.5),
    ],
    ids=str,
)
def test_vectors_are_what_the_reference_says(value):
    check_against_reference(X, Node(x=value))
    check_against_reference(X, Node([Node(x=np.ones(3, np.float32))], x=value))


def test_one_element_that_torch_negates():
    one = torch.conj(torch.tensor([1 + 2j])).imag
    plan = carrying(Payload("x", DType.FLOAT32, (1,), Presence.ALL, 0.0, None))
    assert "negative bit" in str(check_against_reference(plan, Node(x=one)))
    assert "negative bit" in str(check_against_reference(FLOATS, Node(weight=one[0])))
    assert rows(check_against_reference(plan, Node(x=one.clone())), "x").tolist() == [[-2.0]]


def test_tensors_are_read_where_they_are():
    x = torch.arange(9.0)
    result = Linearizer(X).borrow(Node([Node(x=x[5:8]), Node(x=x[:3])], x=x[2:5]), ("x",))
    memory = result.payloads["x"]
    assert memory.ctypes.data == x.data_ptr() and memory.shape == (8,) and not memory.flags.writeable
    assert result.begin_of_x[result.rows].tolist() == [5, 0, 2]


def test_tensors_live_as_long_as_the_result():
    result = Linearizer(X).borrow(Node([Node(x=torch.full((3,), 2.0))], x=torch.full((3,), 1.0)), ("x",))
    memory = result.payloads["x"]
    gc.collect()
    begin = result.begin_of_x[result.rows]
    assert memory.ndim == 1
    assert [memory[at : at + 3].tolist() for at in begin] == [[2.0] * 3, [1.0] * 3]


def test_under_a_default_device():
    with torch.device("cpu"):  # torch runs Python code at its functions there
        value = torch.tensor(3)
        assert rows(check_against_reference(TREE, Node(word=value)), "word").tolist() == [3]
        check_against_reference(X, Node(x=torch.ones(3)))
