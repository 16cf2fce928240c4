"""Stacks of encoder layers, with the state of torch.nn.TransformerEncoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragged import RaggedArray
from ragged.ops.activations import Activation
from ragged.ops.encoder import TransformerEncoderLayer
from ragged.ops.norm import LayerNorm
from ragged.ops.state import Array, Shapes, below, prefixed, read_state


class TransformerEncoder:
    """`layers` encoder layers after each other, as torch.nn.TransformerEncoder; with `norm` a normalization at the end.

    The options are those of `TransformerEncoderLayer`. The layers share one compiled function, called once for each of
    them with its own parameters: `encoder.layers[0].function`; the last normalization is `encoder.norm`, or None.

    Example:
        >>> encoder = TransformerEncoder(hidden=512, heads=8, ff=2048, layers=6)
        >>> encoder.load_state_dict(torch_encoder.state_dict())
        >>> y = encoder(x)
    """

    def __init__(
        self,
        hidden: int,
        heads: int,
        ff: int,
        layers: int,
        *,
        norm: bool = False,
        activation: Activation = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
        bias: bool = True,
        causal: bool = False,
        target: str = "cpu",
        threads: int | None = None,
    ) -> None:
        self.layers = tuple(
            TransformerEncoderLayer(
                hidden,
                heads,
                ff,
                activation=activation,
                norm_first=norm_first,
                eps=eps,
                bias=bias,
                causal=causal,
                target=target,
                threads=threads,
            )
            for _ in range(layers)
        )
        self.norm = LayerNorm(hidden, eps, bias=bias, target=target, threads=threads) if norm else None

    @property
    def shapes(self) -> Shapes:
        """The names and shapes of torch.nn.TransformerEncoder's state."""
        shapes: dict[str, tuple[int, ...]] = {}
        for place, layer in enumerate(self.layers):
            shapes |= prefixed(f"layers.{place}", layer.shapes)
        return shapes if self.norm is None else shapes | prefixed("norm", self.norm.shapes)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take the parameters from torch.nn.TransformerEncoder's `state_dict()`, or arrays by such names; copied.

        Raises:
            ModelError: an array is missing, unknown, of another shape or not float32; the layers are as they were.
        """
        state = read_state("TransformerEncoder", state_dict, self.shapes)
        for place, layer in enumerate(self.layers):
            layer.load_state_dict(below(f"layers.{place}", state))
        if self.norm is not None:
            self.norm.load_state_dict(below("norm", state))

    def state_dict(self) -> dict[str, Array]:
        """Return copies of the parameters, by the names that they came by."""
        found: dict[str, Array] = {}
        for place, layer in enumerate(self.layers):
            found |= {f"layers.{place}.{name}": array for name, array in layer.state_dict().items()}
        norm = {} if self.norm is None else self.norm.state_dict()
        return found | {f"norm.{name}": array for name, array in norm.items()}

    def __call__(self, x: Any) -> RaggedArray:
        """Return (B, n, hidden) of `x` (B, n, hidden), float32, in memory of the caller's.

        Raises:
            DataError: `x` has another shape or dtype.
            ModelError: there are no parameters yet.
        """
        for layer in self.layers:
            x = layer(x)
        result: RaggedArray = x if self.norm is None else self.norm(x)
        return result
