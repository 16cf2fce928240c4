"""PyTorch, a product after the other: MKL's, as it comes."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.operators.problems import Inputs, Operator, Problem, Products
from bench.peers.ragged.peer import Prepared, RaggedPeer
from bench.peers.ragged.torch_layer import inferring, set_up


class Measured(RaggedPeer):
    """A loop over `torch.mm`."""

    operators = frozenset({Operator.VGEMM})

    def __init__(self, problem: Problem) -> None:
        set_up(problem)

    def prepare(self, inputs: Inputs) -> Prepared[list[Tensor]]:
        """See `RaggedPeer`."""
        assert isinstance(inputs, Products)
        lhs, rhs = (list(map(torch.from_numpy, side)) for side in (inputs.lhs, inputs.rhs))
        pairs = list(zip(lhs, rhs, strict=True))
        return Prepared(
            inferring(lambda: [torch.mm(a, b) for a, b in pairs]), lambda y: [each.numpy() for each in y]
        )
