"""PyTorch level by level with oneDNN's linear layers, weights packed once: the fair variant where MKL is slow."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.peers import torch_levels
from bench.peers.job import Array
from bench.peers.torch_parts import Linear

_ROWS = 16
"""For how many rows oneDNN is asked to lay out the weights; it takes others too."""


def onednn(weights: Array, bias: Array | None) -> Linear:
    """Return oneDNN's linear layer as PyTorch's own compiler calls it."""
    packed = torch.ops.mkldnn._reorder_linear_weight(torch.from_numpy(weights), _ROWS)
    b = None if bias is None else torch.from_numpy(bias)
    linear = torch.ops.mkldnn._linear_pointwise.default

    def call(x: Tensor) -> Tensor:
        return linear(x, packed, b, "none", [], "")

    return call


class Measured(torch_levels.Measured):
    """As `torch_levels`, with other linear layers."""

    layer = staticmethod(onednn)
