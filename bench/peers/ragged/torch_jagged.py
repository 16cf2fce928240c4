"""PyTorch's nested tensors in jagged layout, put together as its tutorial on transformer building blocks does.

PyTorch's own layer does not take them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from bench.operators.problems import Inputs, Operator, Problem, Rows, split_rows
from bench.peers.ragged.peer import Prepared, RaggedPeer
from bench.peers.ragged.torch_layer import LAYER_PARTS, encoder_layer, inferring, set_up


class Measured(RaggedPeer):
    """One tensor (sequences, length, hidden) with a jagged second dimension."""

    operators = LAYER_PARTS

    def __init__(self, problem: Problem) -> None:
        set_up(problem)
        self._operator, self._sizes = problem.operator, problem.sizes
        self._layer = encoder_layer(problem)

    def prepare(self, inputs: Inputs) -> Prepared[Tensor]:
        """See `RaggedPeer`."""
        assert isinstance(inputs, Rows)
        sequences = map(torch.from_numpy, split_rows(inputs.values, inputs.lengths))
        run = self._rows(torch.nested.nested_tensor(list(sequences), layout=torch.jagged))
        return Prepared(inferring(run), lambda y: [rows.numpy() for rows in y.unbind()])

    def _rows(self, x: Tensor) -> Callable[[], Tensor]:
        layer = self._layer
        match self._operator:
            case Operator.ENCODER_LAYER:
                return lambda: self._encode(x)
            case Operator.ATTENTION:
                return lambda: self._attend(x)
            case Operator.LINEAR:
                return lambda: functional.relu(layer.linear1(x))
            case _:
                return lambda: layer.norm1(x)

    def _encode(self, x: Tensor) -> Tensor:
        layer = self._layer
        h = layer.norm1(x + self._attend(x))
        return layer.norm2(h + layer.linear2(functional.relu(layer.linear1(h))))

    def _attend(self, x: Tensor) -> Tensor:
        own = self._layer.self_attn
        projected = functional.linear(x, own.in_proj_weight, own.in_proj_bias)
        q, k, v = (self._heads(part) for part in projected.chunk(3, dim=-1))
        seen = functional.scaled_dot_product_attention(q, k, v)
        return own.out_proj(seen.transpose(1, 2).flatten(-2))

    def _heads(self, part: Tensor) -> Tensor:
        """Return (sequences, heads, length, head); jagged attention refuses what is not contiguous before this."""
        return part.contiguous().unflatten(-1, [self._sizes.heads, self._sizes.head]).transpose(1, 2)
