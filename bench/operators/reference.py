"""Right answers: every operator padded, masked and in float64, in NumPy; it shares no code with timed peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.lengths import Lengths
from bench.operators.problems import (
    Array,
    Decoded,
    Inputs,
    Operator,
    Problem,
    Products,
    Rows,
    Scores,
    Triangle,
    Triangles,
    outside,
    pad_rows,
    pad_scores,
    split_rows,
)

LARGEST_ERROR = 1e-5
"""max|a - b| / max(1, max|b|) of each sequence or product: the bound that the project sets itself in float32."""
_EPS = 1e-5
"""What PyTorch's layer norm adds to the variance."""

Exact: TypeAlias = NDArray[np.float64]


def wanted(problem: Problem, inputs: Inputs) -> list[Exact]:
    """Return the answers: of each sequence its rows or scores, of each pair its product."""
    match inputs:
        case Products(lhs=lhs, rhs=rhs):
            return [_exact(a) @ _exact(b) for a, b in zip(lhs, rhs, strict=True)]
        case Triangle(lower=lower, rhs=rhs):
            return [_exact(lower) @ _exact(rhs)]
        case Triangles(left=left, right=right):
            combine = np.add if problem.operator is Operator.TRADD else np.multiply
            return [combine(_exact(left), _exact(right))]
        case Scores(lengths=lengths):
            scores = _softmax(_exact(pad_scores(inputs.matrices())), lengths)
            pairs = zip(scores, lengths.tolist(), strict=True)
            return [matrix[:, :length, :length] for matrix, length in pairs]
        case Decoded(lengths=lengths, values=values, memory_lengths=of_memory, memory=memory):
            x, seen = _padded(values, lengths), _padded(memory, of_memory)
            return _without_padding(_decoder_layer(problem, x, lengths, seen, of_memory), lengths)
        case Rows(lengths=lengths, values=values):
            return _without_padding(_rows(problem, _padded(values, lengths), lengths), lengths)


def largest_error(answers: Sequence[Array], expected: Sequence[Exact]) -> float:
    """Return the largest error over all answers; infinity where one is missing, misshapen or not finite."""
    if len(answers) != len(expected):
        return float("inf")
    return max((_error(*pair) for pair in zip(answers, expected, strict=True)), default=0.0)


def _error(answer: Array, expected: Exact) -> float:
    if answer.shape != expected.shape or not np.isfinite(answer).all():
        return float("inf")
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return float(np.abs(answer - expected).max(initial=0.0)) / scale


def _rows(problem: Problem, x: Exact, lengths: Lengths) -> Exact:
    """Return what an operator makes of padded rows (sequences, largest length, hidden)."""
    p = {name: _exact(array) for name, array in problem.params().items()}
    match problem.operator:
        case Operator.LINEAR:
            return _linear1(p, x)
        case Operator.LAYER_NORM:
            return _layer_norm(p, "norm1", x)
        case Operator.ATTENTION | Operator.MASKED_ATTENTION:
            masked = problem.operator is Operator.MASKED_ATTENTION
            return _attention(p, problem.sizes.heads, x, x, lengths, masked=masked)
        case Operator.ENCODER_LAYER:
            h = _layer_norm(p, "norm1", x + _attention(p, problem.sizes.heads, x, x, lengths))
            return _layer_norm(p, "norm2", h + _forward(p, h))
        case _:
            raise ValueError(f"{problem.operator.value} has no rows")


def _decoder_layer(problem: Problem, x: Exact, lengths: Lengths, memory: Exact, of_memory: Lengths) -> Exact:
    """Return what a decoder layer makes of padded rows and what they attend to, of its own lengths."""
    p = {name: _exact(array) for name, array in problem.params().items()}
    heads = problem.sizes.heads
    h = _layer_norm(p, "norm1", x + _attention(p, heads, x, x, lengths, masked=True))
    crossed = _attention(p, heads, h, memory, of_memory, name="multihead_attn")
    h = _layer_norm(p, "norm2", h + crossed)
    return _layer_norm(p, "norm3", h + _forward(p, h))


def _forward(p: dict[str, Exact], x: Exact) -> Exact:
    return _linear1(p, x) @ p["linear2.weight"].T + p["linear2.bias"]


def _linear1(p: dict[str, Exact], x: Exact) -> Exact:
    return np.maximum(x @ p["linear1.weight"].T + p["linear1.bias"], 0)


def _layer_norm(p: dict[str, Exact], name: str, x: Exact) -> Exact:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    normal: Exact = (x - mean) / np.sqrt(variance + _EPS)
    return normal * p[f"{name}.weight"] + p[f"{name}.bias"]


def _attention(
    p: dict[str, Exact],
    heads: int,
    x: Exact,
    memory: Exact,
    lengths: Lengths,
    *,
    name: str = "self_attn",
    masked: bool = False,
) -> Exact:
    """Return what padded rows see of `memory`, which has these lengths; where `masked` only places up to their own."""
    sequences, rows, hidden = x.shape
    weights, biases = (np.split(p[f"{name}.in_proj_{each}"], 3) for each in ("weight", "bias"))
    q, k, v = (
        (given @ weight.T + bias).reshape(sequences, -1, heads, hidden // heads).swapaxes(1, 2)
        for given, weight, bias in zip((x, memory, memory), weights, biases, strict=True)
    )
    scores = q @ k.swapaxes(-1, -2) * (hidden // heads) ** -0.5
    if masked:
        scores = np.where(np.tri(rows, dtype=bool), scores, -np.inf)
    seen: Exact = (_softmax(scores, lengths) @ v).swapaxes(1, 2).reshape(x.shape)
    return seen @ p[f"{name}.out_proj.weight"].T + p[f"{name}.out_proj.bias"]


def _softmax(scores: Exact, lengths: Lengths) -> Exact:
    """Return the softmax of each row of scores (sequences, heads, largest, largest) over its sequence's columns."""
    masked: Exact = np.where(outside(lengths)[:, None, None, :], -np.inf, scores)
    masked -= masked.max(-1, keepdims=True)
    np.exp(masked, out=masked)
    masked /= masked.sum(-1, keepdims=True)
    return masked


def _padded(values: Array, lengths: Lengths) -> Exact:
    return _exact(pad_rows(split_rows(values, lengths)))


def _without_padding(padded: Exact, lengths: Lengths) -> list[Exact]:
    return [rows[:length] for rows, length in zip(padded, lengths.tolist(), strict=True)]


def _exact(array: Array) -> Exact:
    return array.astype(np.float64)
