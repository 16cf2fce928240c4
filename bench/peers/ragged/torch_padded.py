"""PyTorch on padded batches: its own layer, told by a mask which rows are padding."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from bench.operators.problems import (
    Array,
    Decoded,
    Inputs,
    Operator,
    Problem,
    Rows,
    Scores,
    outside,
    pad_rows,
    pad_scores,
    split_rows,
)
from bench.peers.ragged.peer import Prepared, RaggedPeer
from bench.peers.ragged.torch_layer import (
    LAYER_PARTS,
    MASKED,
    decoder_layer,
    encoder_layer,
    inferring,
    set_up,
)


class Measured(RaggedPeer):
    """Batches are as long as their longest sequence."""

    operators = LAYER_PARTS | MASKED | {Operator.DECODER_LAYER, Operator.SOFTMAX}

    def __init__(self, problem: Problem) -> None:
        set_up(problem)
        decodes = problem.operator is Operator.DECODER_LAYER
        self._operator = problem.operator
        self._layer = decoder_layer(problem) if decodes else encoder_layer(problem)

    def prepare(self, inputs: Inputs) -> Prepared[Tensor]:
        """See `RaggedPeer`."""
        match inputs:
            case Decoded():
                return self._decoded(inputs)
            case Rows(lengths=lengths, values=values):
                x = torch.from_numpy(pad_rows(split_rows(values, lengths)))
                run = self._rows(x, torch.from_numpy(outside(lengths)))
                return Prepared(inferring(run), lambda y: [y[i, :n].numpy() for i, n in enumerate(lengths)])
            case Scores(lengths=lengths):
                scores = torch.from_numpy(pad_scores(inputs.matrices()))
                mask = torch.from_numpy(outside(lengths))[:, None, None, :]
                return Prepared(
                    inferring(lambda: scores.masked_fill(mask, float("-inf")).softmax(-1)),
                    lambda y: [_corner(y[i], n) for i, n in enumerate(lengths)],
                )
            case _:
                raise ValueError("only sequences are padded here")

    def _decoded(self, inputs: Decoded) -> Prepared[Tensor]:
        lengths, of_memory, layer = inputs.lengths, inputs.memory_lengths, self._layer
        x = torch.from_numpy(pad_rows(split_rows(inputs.values, lengths)))
        memory = torch.from_numpy(pad_rows(split_rows(inputs.memory, of_memory)))
        masks = {
            "tgt_mask": _later(x.shape[1]),
            "tgt_key_padding_mask": torch.from_numpy(outside(lengths)),
            "memory_key_padding_mask": torch.from_numpy(outside(of_memory)),
        }
        return Prepared(
            inferring(lambda: layer(x, memory, tgt_is_causal=True, **masks)),
            lambda y: [y[i, :n].numpy() for i, n in enumerate(lengths)],
        )

    def _rows(self, x: Tensor, mask: Tensor) -> Callable[[], Tensor]:
        layer = self._layer
        match self._operator:
            case Operator.ENCODER_LAYER:
                return lambda: layer(x, src_key_padding_mask=mask)
            case Operator.ATTENTION:
                return lambda: layer.self_attn(x, x, x, key_padding_mask=mask, need_weights=False)[0]
            case Operator.MASKED_ATTENTION:
                later = _later(x.shape[1])
                return lambda: layer.self_attn(
                    x, x, x, key_padding_mask=mask, need_weights=False, attn_mask=later, is_causal=True
                )[0]
            case Operator.LINEAR:
                return lambda: functional.relu(layer.linear1(x))
            case _:
                return lambda: layer.norm1(x)


def _later(length: int) -> Tensor:
    """Return (length, length): whether a place comes after the one that looks."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def _corner(matrices: Tensor, length: int) -> Array:
    found: Array = matrices[:, :length, :length].numpy()
    return found
