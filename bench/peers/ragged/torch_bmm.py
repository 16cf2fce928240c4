"""PyTorch's batched product, all matrices padded to the largest: what one does without a ragged product."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bench.operators.problems import Array, Inputs, Operator, Problem, Products
from bench.peers.ragged.peer import Prepared, RaggedPeer
from bench.peers.ragged.torch_layer import inferring, set_up


class Measured(RaggedPeer):
    """`torch.bmm` on two tensors; the padding is zeros and was there before."""

    operators = frozenset({Operator.VGEMM})

    def __init__(self, problem: Problem) -> None:
        set_up(problem)

    def prepare(self, inputs: Inputs) -> Prepared[Tensor]:
        """See `RaggedPeer`."""
        assert isinstance(inputs, Products)
        shapes = [(len(a), b.shape[1]) for a, b in zip(inputs.lhs, inputs.rhs, strict=True)]
        lhs, rhs = _padded(inputs.lhs), _padded(inputs.rhs)
        return Prepared(
            inferring(lambda: torch.bmm(lhs, rhs)),
            lambda y: [y[i, :m, :n].numpy() for i, (m, n) in enumerate(shapes)],
        )


def _padded(matrices: Sequence[Array]) -> Tensor:
    rows, columns = (max(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    padded = torch.zeros(len(matrices), rows, columns)
    for place, matrix in zip(padded, matrices, strict=True):
        place[: matrix.shape[0], : matrix.shape[1]] = torch.from_numpy(matrix)
    return padded
