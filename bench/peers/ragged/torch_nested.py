"""PyTorch's nested tensors in strided layout: its own layer takes its fast path with them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from bench.operators.problems import Inputs, Operator, Problem, Rows, split_rows
from bench.peers.ragged.peer import Prepared, RaggedPeer
from bench.peers.ragged.torch_layer import LAYER_PARTS, encoder_layer, inferring, set_up


class Measured(RaggedPeer):
    """Batches are nested tensors, on the way in and on the way out."""

    operators = LAYER_PARTS

    def __init__(self, problem: Problem) -> None:
        set_up(problem)
        self._operator, self._layer = problem.operator, encoder_layer(problem)

    def prepare(self, inputs: Inputs) -> Prepared[Tensor]:
        """See `RaggedPeer`."""
        assert isinstance(inputs, Rows)
        sequences = map(torch.from_numpy, split_rows(inputs.values, inputs.lengths))
        run = self._rows(torch.nested.nested_tensor(list(sequences)))
        return Prepared(inferring(run), lambda y: [rows.numpy() for rows in y.unbind()])

    def _rows(self, x: Tensor) -> Callable[[], Tensor]:
        layer = self._layer
        match self._operator:
            case Operator.ENCODER_LAYER:
                return lambda: layer(x)
            case Operator.ATTENTION:
                return lambda: layer.self_attn(x, x, x, need_weights=False)[0]
            case Operator.LINEAR:
                return lambda: functional.relu(layer.linear1(x))
            case _:
                return lambda: layer.norm1(x)
