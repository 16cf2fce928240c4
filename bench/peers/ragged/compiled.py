"""This project: the ready-made operators, each compiled once for all lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

import ragged
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
)
from bench.peers.ragged.peer import Prepared, RaggedPeer
from ragged import Lengths, RaggedArray
from ragged.ops import (
    LayerNorm,
    Linear,
    MultiheadAttention,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    softmax,
)
from ragged.ops.gemm import vgemm
from ragged.ops.triangles import tradd, triangle, trmul
from ragged.ops.trmm import trmm

Layer: TypeAlias = LayerNorm | Linear | MultiheadAttention | TransformerDecoderLayer | TransformerEncoderLayer


class Measured(RaggedPeer):
    """Batches are ragged arrays, and so are results."""

    operators = frozenset(Operator)

    def __init__(self, problem: Problem) -> None:
        self._operator, self._threads = problem.operator, problem.threads
        self._layer = layer_of(problem)

    def prepare(self, inputs: Inputs) -> Prepared[RaggedArray] | Prepared[Array]:
        """See `RaggedPeer`."""
        match inputs:
            case Rows(lengths=lengths, values=values):
                x, layer = ragged.array(values, lengths=lengths), self._layer
                assert layer is not None and not isinstance(layer, TransformerDecoderLayer)
                return Prepared(lambda: layer(x), _parts)
            case Decoded(lengths=lengths, values=values, memory_lengths=of_memory, memory=memory):
                x, seen = ragged.array(values, lengths=lengths), ragged.array(memory, lengths=of_memory)
                decoder = self._layer
                assert isinstance(decoder, TransformerDecoderLayer)
                return Prepared(lambda: decoder(x, seen), _parts)
            case Scores(lengths=lengths, heads=heads, values=values):
                length = Lengths((0,), lengths)
                scores = ragged.array(values, extents=[len(lengths), heads, length, length])
                return Prepared(lambda: softmax(scores, threads=self._threads), _parts)
            case Products(lhs=lhs, rhs=rhs):
                a, b = _matrices(lhs), _matrices(rhs)
                return Prepared(lambda: vgemm(a, b, threads=self._threads), _parts)
            case Triangle(lower=lower, rhs=rhs):
                return Prepared(lambda: trmm(lower, rhs, threads=self._threads), lambda y: [y])
            case Triangles(left=left, right=right):
                combine = tradd if self._operator is Operator.TRADD else trmul
                one, other = triangle(left), triangle(right)
                return Prepared(lambda: combine(one, other, threads=self._threads), lambda y: [y.to_padded()])


def layer_of(problem: Problem) -> Layer | None:
    """Return the layer of an operator that has weights, with them; None for the others."""
    sizes, threads = problem.sizes, problem.threads
    match problem.operator:
        case Operator.ENCODER_LAYER:
            prefix = ""
            found: Layer = TransformerEncoderLayer(sizes.hidden, sizes.heads, sizes.ff, threads=threads)
        case Operator.DECODER_LAYER:
            prefix = ""
            found = TransformerDecoderLayer(sizes.hidden, sizes.heads, sizes.ff, threads=threads)
        case Operator.ATTENTION | Operator.MASKED_ATTENTION:
            causal = problem.operator is Operator.MASKED_ATTENTION
            prefix = "self_attn."
            found = MultiheadAttention(sizes.hidden, sizes.heads, causal=causal, threads=threads)
        case Operator.LINEAR:
            prefix = "linear1."
            found = Linear(sizes.hidden, sizes.ff, activation="relu", threads=threads)
        case Operator.LAYER_NORM:
            prefix, found = "norm1.", LayerNorm(sizes.hidden, threads=threads)
        case _:
            return None
    params = problem.params().items()
    found.load_state_dict({n.removeprefix(prefix): array for n, array in params if n.startswith(prefix)})
    return found


def _matrices(matrices: Sequence[Array]) -> RaggedArray:
    extents = [Lengths((0,), [matrix.shape[axis] for matrix in matrices]) for axis in (0, 1)]
    return ragged.array(np.concatenate([m.ravel() for m in matrices]), extents=[len(matrices), *extents])


def _parts(result: RaggedArray) -> list[Array]:
    return [np.asarray(part) for part in result]
