"""The transformer's encoder layer, one kernel, with the state of torch.nn.TransformerEncoderLayer."""

from __future__ import annotations

from typing import Any, Unpack

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.lang.types import epsilon_of
from ragged.ops.activations import Activation, activation_of
from ragged.ops.attend import CAUSAL, PLAIN, Attention, attention, queries_per_tile
from ragged.ops.blocks import Normalization, affine, normalized
from ragged.ops.compiled import CompileArgs, Options
from ragged.ops.dims import sequences
from ragged.ops.module import Module
from ragged.ops.multihead import attention_shapes, check_heads, heads_of
from ragged.ops.operands import as_ragged, count_of
from ragged.ops.rows import fuse_rows
from ragged.ops.state import Shapes, bound_names, prefixed


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network, with residuals, as torch.nn.TransformerEncoderLayer (batch first).

    `hidden` features, `heads` heads of the same width, `ff` features between the two products; dropout is for training
    and has no part in it. With `norm_first` rows are normalized before the two, else after. With `causal` a place sees
    those up to its own. Without `bias` no product and no normalization has one. `compile_args` are as
    `ragged.compile` takes them: with `precision="bf16"` products with parameters are rounded.

    Example:
        >>> layer = TransformerEncoderLayer(hidden=512, heads=8, ff=2048)
        >>> layer.load_state_dict(torch_layer.state_dict())
        >>> y = layer(x)
    """

    def __init__(
        self,
        hidden: int,
        heads: int,
        ff: int,
        *,
        activation: Activation = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
        bias: bool = True,
        causal: bool = False,
        **compile_args: Unpack[CompileArgs],
    ) -> None:
        super().__init__(Options.of(compile_args))
        (self.hidden, self.heads), self.ff = check_heads(hidden, heads), count_of("ff", ff)
        self.activation, self.norm_first, self.eps = activation_of(activation), norm_first, epsilon_of(eps)
        self.bias, self.causal = bias, causal

    @property
    def shapes(self) -> Shapes:
        """The names and shapes of torch.nn.TransformerEncoderLayer's state."""
        hidden, ff = self.hidden, self.ff
        shapes: dict[str, tuple[int, ...]] = {
            **prefixed("self_attn", attention_shapes(hidden, hidden, hidden, self.bias)),
            "linear1.weight": (ff, hidden),
            "linear2.weight": (hidden, ff),
            "norm1.weight": (hidden,),
            "norm2.weight": (hidden,),
        }
        if self.bias:
            biases = {"linear1": ff, "linear2": hidden, "norm1": hidden, "norm2": hidden}
            shapes |= {f"{name}.bias": (width,) for name, width in biases.items()}
        return shapes

    @property
    def function(self) -> ragged.RaggedFunction:
        """The compiled function, of `x`."""
        own = (self.hidden, self.heads, self.ff, self.activation, self.norm_first, self.eps)
        flags = (self.bias, self.causal)

        def build() -> RaggedSchedule:
            return _program(*own, *flags, queries_per_tile(self._options))

        return self._function("rows", (*own, *flags), build, bound_names)

    def __call__(self, x: object) -> RaggedArray:
        """Return (B, n, hidden) of `x` (B, n, hidden), float32, in memory of the caller's.

        Raises:
            DataError: `x` has another shape or dtype.
            ModelError: there are no parameters yet.
        """
        result: RaggedArray = self.function(x=as_ragged("TransformerEncoderLayer: 'x'", x, 3))
        return result


def _program(
    hidden: int,
    heads: int,
    ff: int,
    act: Activation,
    norm_first: bool,
    eps: float,
    bias: bool,
    causal: bool,
    size: int,
) -> RaggedSchedule:
    """Return the layer's schedule; tensors have the names of torch's state, with underscores."""
    queries = sequences()
    x = queries.rows("x", hidden)

    def norm(name: str, rows: RaggedTensor) -> Normalization:
        return normalized(name, rows, hidden, eps, shift=bias)

    def product(name: str, rows: RaggedTensor, inner: int, outer: int, **more: Any) -> RaggedTensor:
        return affine(name, rows, inner, outer, bias=bias, **more)

    def attend(rows: RaggedTensor) -> tuple[RaggedTensor, Attention]:
        qkv = product("self_attn_in_proj", rows, hidden, 3 * hidden)
        width = hidden // heads
        reads = (heads_of(qkv, width, part * hidden) for part in range(3))
        scoring = CAUSAL if causal else PLAIN
        mixed = attention("mixed", heads, width, queries, queries, *reads, size=size, scoring=scoring)
        return qkv, mixed

    before = norm("norm1", x) if norm_first else None
    qkv, mixed = attend(x if before is None else before.result)
    attended = product("self_attn_out_proj", mixed.result, hidden, hidden, residual=x, read=mixed.read)
    between = norm("norm2" if norm_first else "norm1", attended)
    residual = attended if norm_first else between.result
    wide = product("linear1", between.result, hidden, ff, act=act)
    narrow = product("linear2", wide, ff, hidden, residual=residual)
    after = None if norm_first else norm("norm2", narrow)

    s = ragged.Schedule(narrow if after is None else after.result, name="encoder_layer")
    norms = [each for each in (before, between, after) if each is not None]
    mixed.decide(s)
    for each in norms:
        each.decide(s)
    mixed.arrange(s)
    fuse_rows(s, qkv, attended, wide, narrow, *(each.result for each in norms))
    return s
