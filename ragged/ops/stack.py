"""Stacks of encoder layers, with the state of torch.nn.TransformerEncoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self, Unpack

from ragged import RaggedArray
from ragged.api.function_chain import FunctionChain
from ragged.auto.options import ScheduleOptions
from ragged.compiled.artifact import Target
from ragged.data.read import read_array
from ragged.ops.activations import Activation
from ragged.ops.bert import bert_state
from ragged.ops.compiled import CompileArgs
from ragged.ops.encoder import TransformerEncoderLayer
from ragged.ops.norm import LayerNorm
from ragged.ops.operands import count_of
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
        **compile_args: Unpack[CompileArgs],
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
                **compile_args,
            )
            for _ in range(count_of("layers", layers, 1))
        )
        self.norm = LayerNorm(hidden, eps, bias=bias, **compile_args) if norm else None

    @classmethod
    def from_bert(
        cls,
        state_dict: Mapping[str, Any],
        heads: int,
        *,
        activation: Activation = "gelu",
        eps: float = 1e-12,
        **compile_args: Unpack[CompileArgs],
    ) -> TransformerEncoder:
        """Return the encoder of a BERT model, with its parameters: `hidden`, `ff` and `layers` are read off the state.

        Its argument is what the embeddings give. `state_dict` has the names that Hugging Face's `BertModel` and models
        with it inside have, such as "encoder.layer.0.attention.self.query.weight"; those of embeddings, the pooler and
        a head are left out, which the log says (`ragged.weights`).

        Raises:
            ModelError: there are no such names or those of several encoders, arrays have other shapes or dtypes, or a
                layer has further parameters.

        Example:
            >>> encoder = TransformerEncoder.from_bert(bert.state_dict(), heads=bert.config.num_attention_heads)
            >>> y = encoder([bert.embeddings(ids[None])[0] for ids in sentences])
        """
        state = bert_state(state_dict)
        ff, hidden = read_array("from_bert", state["layers.0.linear1.weight"]).shape
        layers = len({name.split(".")[1] for name in state})
        encoder = cls(hidden, heads, ff, layers, activation=activation, eps=eps, **compile_args)
        encoder.load_state_dict(state)
        return encoder

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

    def with_options(self, options: ScheduleOptions) -> Self:
        """Return this encoder compiled with other options, as `TransformerEncoderLayer.with_options` does."""
        other = copy(self)
        other.layers = tuple(layer.with_options(options) for layer in self.layers)
        other.norm = None if self.norm is None else self.norm.with_options(options)
        return other

    @property
    def function(self) -> FunctionChain:
        """The compiled functions of the layers and the last normalization, one after another."""
        last = [] if self.norm is None else [self.norm.function]
        return FunctionChain([*(layer.function for layer in self.layers), *last])

    def save(self, path: Target, *, alternatives: Sequence[TransformerEncoder] = ()) -> None:
        """Write the encoder to a file, or a stream, that `ragged.FunctionChain.load` reads without the compiler.

        `alternatives` are encoders with the same parameters for other targets; raises what `RaggedFunction.save` does.
        """
        self.function.save(path, alternatives=[each.function for each in alternatives])

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
