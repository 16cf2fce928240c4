"""What is right does not depend on padding: each sequence alone has the same answer."""

import numpy as np
import pytest
import torch

from bench.operators.problems import ON_MATRICES, Operator, Problem, Rows, Scores, Sizes, split_rows
from bench.operators.reference import largest_error, wanted

SIZES = Sizes(hidden=16, heads=4, ff=24)
LENGTHS = np.array([3, 1, 7, 7, 2], np.int32)
ON_ROWS = [each for each in Operator if each not in ON_MATRICES | {Operator.SOFTMAX, Operator.DECODER_LAYER}]


def problem(operator, *batches):
    return Problem(operator, SIZES, batches or (LENGTHS,), 1, 0)


@pytest.mark.parametrize("operator", ON_ROWS)
def test_each_sequence_alone_has_the_same_answer(operator):
    whole = problem(operator)
    inputs = whole.inputs(0)
    answers = wanted(whole, inputs)
    assert [len(answer) for answer in answers] == LENGTHS.tolist()
    for rows, answer in zip(split_rows(inputs.values, LENGTHS), answers, strict=True):
        (alone,) = wanted(whole, Rows(np.array([len(rows)], np.int32), rows))
        np.testing.assert_allclose(alone, answer, rtol=1e-12, atol=1e-13)


def test_softmax_of_each_sequence():
    whole = problem(Operator.SOFTMAX)
    inputs = whole.inputs(0)
    assert isinstance(inputs, Scores)
    for matrix, answer in zip(inputs.matrices(), wanted(whole, inputs), strict=True):
        e = np.exp(matrix.astype(np.float64))
        np.testing.assert_allclose(answer, e / e.sum(-1, keepdims=True), rtol=1e-12)


def test_the_layer_is_that_of_torch():
    whole = problem(Operator.ENCODER_LAYER)
    inputs = whole.inputs(0)
    layer = torch.nn.TransformerEncoderLayer(16, 4, 24, dropout=0.0, batch_first=True, dtype=torch.float64)
    layer.load_state_dict({name: torch.from_numpy(array) for name, array in whole.params().items()})
    layer.eval()
    with torch.inference_mode():
        for rows, answer in zip(split_rows(inputs.values, LENGTHS), wanted(whole, inputs), strict=True):
            theirs = layer(torch.from_numpy(rows).double()[None])[0].numpy()
            np.testing.assert_allclose(answer, theirs, rtol=1e-10, atol=1e-12)


def test_the_decoder_layer_is_that_of_torch():
    whole = problem(Operator.DECODER_LAYER)
    inputs = whole.inputs(0)
    layer = torch.nn.TransformerDecoderLayer(16, 4, 24, dropout=0.0, batch_first=True, dtype=torch.float64)
    layer.load_state_dict({name: torch.from_numpy(array) for name, array in whole.params().items()})
    layer.eval()
    assert inputs.memory_lengths.tolist() == [2, 3, 1, 7, 7]
    sequences = split_rows(inputs.values, LENGTHS), split_rows(inputs.memory, inputs.memory_lengths)
    with torch.inference_mode():
        for rows, memory, answer in zip(*sequences, wanted(whole, inputs), strict=True):
            x, seen = (torch.from_numpy(each).double()[None] for each in (rows, memory))
            later = torch.ones(len(rows), len(rows), dtype=torch.bool).triu(1)
            theirs = layer(x, seen, tgt_mask=later, tgt_is_causal=True)[0].numpy()
            np.testing.assert_allclose(answer, theirs, rtol=1e-10, atol=1e-12)


def test_products():
    vgemm = problem(Operator.VGEMM, np.array([[2, 3, 4], [5, 1, 2]], np.int32))
    assert [answer.shape for answer in wanted(vgemm, vgemm.inputs(0))] == [(2, 3), (5, 1)]
    trmm = problem(Operator.TRMM, np.array([6], np.int32))
    inputs = trmm.inputs(0)
    assert np.array_equal(inputs.lower, np.tril(inputs.lower))
    (answer,) = wanted(trmm, inputs)
    np.testing.assert_allclose(answer[0], inputs.lower[0, 0].astype(np.float64) * inputs.rhs[0])
    narrow = problem(Operator.TRMM, np.array([[6, 2]], np.int32))
    assert [answer.shape for answer in wanted(narrow, narrow.inputs(0))] == [(6, 2)]


def test_masked_attention_is_that_of_torch():
    whole = problem(Operator.MASKED_ATTENTION)
    inputs = whole.inputs(0)
    own = torch.nn.MultiheadAttention(16, 4, batch_first=True, dtype=torch.float64)
    params = {n.removeprefix("self_attn."): torch.from_numpy(a) for n, a in whole.params().items()}
    own.load_state_dict({name: params[name] for name in own.state_dict()})
    for rows, answer in zip(split_rows(inputs.values, LENGTHS), wanted(whole, inputs), strict=True):
        x = torch.from_numpy(rows).double()[None]
        later = torch.ones(len(rows), len(rows), dtype=torch.bool).triu(1)
        with torch.inference_mode():
            theirs = own(x, x, x, attn_mask=later, need_weights=False)[0][0].numpy()
        np.testing.assert_allclose(answer, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("operator", "combine"), [(Operator.TRADD, np.add), (Operator.TRMUL, np.multiply)])
def test_triangles_by_element(operator, combine):
    whole = problem(operator, np.array([5], np.int32))
    inputs = whole.inputs(0)
    (answer,) = wanted(whole, inputs)
    assert np.array_equal(inputs.left, np.tril(inputs.left)) and not np.triu(answer, 1).any()
    assert answer[3, 2] == combine(inputs.left[3, 2].astype(np.float64), inputs.right[3, 2])


def test_both_sides_draw_the_same():
    for operator in Operator:
        shape = {Operator.VGEMM: [[2, 3, 4]]}.get(operator, [5] if operator in ON_MATRICES else [3, 2])
        one, other = (problem(operator, np.array(shape, np.int32), np.array(shape, np.int32)) for _ in "12")
        first, same, next_batch = one.inputs(0), other.inputs(0), one.inputs(1)
        for name in set(first.__slots__) - {"lengths", "memory_lengths", "heads"}:
            mine, theirs, another = (np.ravel(getattr(each, name)) for each in (first, same, next_batch))
            assert np.array_equal(mine, theirs)
            assert not np.array_equal(mine, another)


def test_what_is_no_answer_is_infinitely_wrong():
    expected = [np.ones((2, 3)), np.full((1, 3), 8.0)]
    right = [array.astype(np.float32) for array in expected]
    assert largest_error(right, expected) == 0
    assert largest_error([right[0], right[1] + np.float32(4)], expected) == 0.5
    assert largest_error(right[:1], expected) == np.inf
    assert largest_error([right[0][:1], right[1]], expected) == np.inf
    assert largest_error([right[0], right[1] * np.float32("nan")], expected) == np.inf
