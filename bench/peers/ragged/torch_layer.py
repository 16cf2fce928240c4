"""What the peers in PyTorch share: the layer with its weights, and calls without gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from bench.operators.problems import Operator, Problem

Result = TypeVar("Result")

LAYER_PARTS = frozenset({Operator.ENCODER_LAYER, Operator.ATTENTION, Operator.LINEAR, Operator.LAYER_NORM})
"""The encoder layer, and what it is made of that takes rows."""

MASKED = frozenset({Operator.MASKED_ATTENTION})


def set_up(problem: Problem) -> None:
    """Set the threads; that nested tensors are a prototype need not be said in every run."""
    torch.set_num_threads(problem.threads)
    warnings.filterwarnings("ignore", message=".*[Nn]ested [Tt]ensor")


def weights(problem: Problem) -> dict[str, Tensor]:
    """Return the layer's weights as tensors."""
    return {name: torch.from_numpy(array) for name, array in problem.params().items()}


def encoder_layer(problem: Problem) -> Any:
    """Return PyTorch's own layer, with the problem's weights, as one that is served."""
    sizes = problem.sizes
    layer = nn.TransformerEncoderLayer(sizes.hidden, sizes.heads, sizes.ff, dropout=0.0, batch_first=True)
    layer.load_state_dict(weights(problem))
    return layer.eval()


def decoder_layer(problem: Problem) -> Any:
    """Return PyTorch's own decoder layer, with the problem's weights, as one that is served."""
    sizes = problem.sizes
    layer = nn.TransformerDecoderLayer(sizes.hidden, sizes.heads, sizes.ff, dropout=0.0, batch_first=True)
    layer.load_state_dict(weights(problem))
    return layer.eval()


def inferring(call: Callable[[], Result]) -> Callable[[], Result]:
    """Return the call without gradients."""

    def run() -> Result:
        with torch.inference_mode():
            return call()

    return run
