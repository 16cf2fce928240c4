"""By hand, without a compiler: all rows packed, products of oneDNN with weights laid out once, attention in a loop.

Products of rows do not care where a sequence ends, so they are one each, bias and activation within; attention is
PyTorch's fused one, a sequence at a time. MKL, which PyTorch's own linear layers call, runs older code on AMD.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from bench.operators.problems import Inputs, Operator, Problem, Rows, Scores, split_rows
from bench.peers.ragged.peer import Prepared, RaggedPeer
from bench.peers.ragged.torch_layer import LAYER_PARTS, MASKED, inferring, set_up, weights

Linear: TypeAlias = Callable[[Tensor], Tensor]


class Measured(RaggedPeer):
    """Batches are one matrix (all rows, hidden), and how long each sequence is."""

    operators = LAYER_PARTS | MASKED | {Operator.SOFTMAX}

    def __init__(self, problem: Problem) -> None:
        set_up(problem)
        self._operator, self._sizes, p = problem.operator, problem.sizes, weights(problem)
        self._masked = problem.operator is Operator.MASKED_ATTENTION
        self._norms = [(p[f"{name}.weight"], p[f"{name}.bias"]) for name in ("norm1", "norm2")]
        self._project, self._output, self._first, self._second = (
            _packed(p[f"{name}weight"], p[f"{name}bias"], activation)
            for name, activation in (
                ("self_attn.in_proj_", "none"),
                ("self_attn.out_proj.", "none"),
                ("linear1.", "relu"),
                ("linear2.", "none"),
            )
        )

    def prepare(self, inputs: Inputs) -> Prepared[Tensor] | Prepared[list[Tensor]]:
        """See `RaggedPeer`."""
        match inputs:
            case Rows(lengths=lengths, values=values):
                run = self._rows(torch.from_numpy(values), lengths.tolist())
                return Prepared(inferring(run), lambda y: split_rows(y.numpy(), lengths))
            case Scores():
                matrices = [torch.from_numpy(matrix) for matrix in inputs.matrices()]
                return Prepared(
                    inferring(lambda: [matrix.softmax(-1) for matrix in matrices]),
                    lambda y: [matrix.numpy() for matrix in y],
                )
            case _:
                raise ValueError("only sequences are packed here")

    def _rows(self, x: Tensor, lengths: list[int]) -> Callable[[], Tensor]:
        match self._operator:
            case Operator.ENCODER_LAYER:
                return lambda: self._encode(x, lengths)
            case Operator.ATTENTION | Operator.MASKED_ATTENTION:
                return lambda: self._attend(x, lengths)
            case Operator.LINEAR:
                return lambda: self._first(x)
            case _:
                return lambda: self._norm(0, x)

    def _encode(self, x: Tensor, lengths: list[int]) -> Tensor:
        h = self._norm(0, self._attend(x, lengths).add_(x))
        return self._norm(1, self._second(self._first(h)).add_(h))

    def _norm(self, number: int, x: Tensor) -> Tensor:
        return functional.layer_norm(x, (self._sizes.hidden,), *self._norms[number])

    def _attend(self, x: Tensor, lengths: list[int]) -> Tensor:
        heads, head = self._sizes.heads, self._sizes.head
        projected = self._project(x).view(-1, 3, heads, head)
        seen = torch.empty(len(x), heads, head)
        for rows, into in zip(projected.split(lengths), seen.split(lengths), strict=True):
            q, k, v = rows.permute(1, 2, 0, 3).unsqueeze(1)  # (3, 1, heads, length, head)
            found = functional.scaled_dot_product_attention(q, k, v, is_causal=self._masked)
            into.copy_(found.squeeze(0).transpose(0, 1))
        return self._output(seen.view(len(x), -1))


def _packed(weight: Tensor, bias: Tensor, activation: str) -> Linear:
    """Return oneDNN's linear layer as PyTorch's own compiler calls it."""
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
    linear = torch.ops.mkldnn._linear_pointwise.default
    return lambda x: linear(x, packed, bias, activation, [], "")
