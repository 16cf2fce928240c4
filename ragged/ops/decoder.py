"""The transformer's decoder layer, one kernel, with the state of torch.nn.TransformerDecoderLayer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value, ValueLike
from ragged.errors import DataError
from ragged.lang.types import epsilon_of
from ragged.ops.activations import Activation, activation_of
from ragged.ops.attend import CAUSAL, Attention, attention, queries_per_tile
from ragged.ops.blocks import Normalization, affine, normalized
from ragged.ops.compiled import CompileArgs, Options
from ragged.ops.dims import Sequences, sequences
from ragged.ops.module import Module
from ragged.ops.multihead import attention_params, attention_shapes, check_heads, heads_of
from ragged.ops.operands import as_ragged, count_of
from ragged.ops.rows import fuse_rows
from ragged.ops.state import Array, Shapes, below, bound_names, prefixed


@dataclass(frozen=True, slots=True)
class DecoderCache:
    """What a decoder layer keeps of the places that it has seen; a step returns a new one, and this stays as it is.

    `seen` (B, n, 2 * hidden) has the keys and after them the values of each place, `memory` (B, m, 2 * hidden) those of
    the memory; float32, in memory of the caller's.
    """

    seen: RaggedArray
    memory: RaggedArray

    def __len__(self) -> int:
        """Return how many sequences there are."""
        return len(self.seen)


class TransformerDecoderLayer(Module):
    """Causal self-attention, attention to a memory and a feed-forward network, as torch.nn.TransformerDecoderLayer.

    `hidden` features, `heads` heads of the same width, `ff` features between the two products; batch first, without
    dropout. A place sees those up to its own, and all of its own sequence of the memory. With `norm_first` rows are
    normalized before the three, else after. Without `bias` no product and no normalization has one.
    `compile_args` are as `ragged.compile` takes them: with `precision="bf16"` products with parameters are rounded.

    Example:
        >>> layer = TransformerDecoderLayer(hidden=512, heads=8, ff=2048)
        >>> layer.load_state_dict(torch_layer.state_dict())
        >>> y = layer(x, memory)
        >>> cache = layer.start(memory)
        >>> for row in rows:
        ...     y, cache = layer.step(row, cache)
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
        **compile_args: Unpack[CompileArgs],
    ) -> None:
        super().__init__(Options.of(compile_args))
        (self.hidden, self.heads), self.ff = check_heads(hidden, heads), count_of("ff", ff)
        self.activation, self.norm_first, self.eps = activation_of(activation), norm_first, epsilon_of(eps)
        self.bias = bias

    @property
    def shapes(self) -> Shapes:
        """The names and shapes of torch.nn.TransformerDecoderLayer's state."""
        hidden, ff = self.hidden, self.ff
        own = attention_shapes(hidden, hidden, hidden, self.bias)
        norms = ("norm1", "norm2", "norm3")
        shapes: dict[str, tuple[int, ...]] = {
            **prefixed("self_attn", own),
            **prefixed("multihead_attn", own),
            "linear1.weight": (ff, hidden),
            "linear2.weight": (hidden, ff),
            **{f"{name}.weight": (hidden,) for name in norms},
        }
        if self.bias:
            shapes |= {"linear1.bias": (ff,), "linear2.bias": (hidden,)}
            shapes |= {f"{name}.bias": (hidden,) for name in norms}
        return shapes

    @property
    def function(self) -> ragged.RaggedFunction:
        """The compiled function of whole sequences, of `x` and `memory`."""
        return self._of("whole")

    @property
    def start_function(self) -> ragged.RaggedFunction:
        """The compiled function of the keys and values of `memory`."""
        return self._of("start")

    @property
    def step_function(self) -> ragged.RaggedFunction:
        """The compiled function of the next places `x` of sequences, the cache's `seen` and its `memory`."""
        return self._of("step")

    def __call__(self, x: object, memory: object) -> RaggedArray:
        """Return (B, n, hidden) of `x` (B, n, hidden) and `memory` (B, m, hidden), float32, in memory of the caller's.

        Raises:
            DataError: shapes, dtypes or batches do not fit together.
            ModelError: there are no parameters yet.
        """
        result: RaggedArray = self.function(x=_read("x", x), memory=_read("memory", memory))
        return result

    def start(self, memory: object) -> DecoderCache:
        """Return the cache of sequences that no place of is seen yet, for `memory` (B, m, hidden), float32.

        Raises:
            DataError: `memory` has another shape or dtype.
            ModelError: there are no parameters yet.
        """
        keys: RaggedArray = self.start_function(memory=_read("memory", memory))
        none = ragged.array(np.zeros((0, 2 * self.hidden), np.float32), lengths=np.zeros(len(keys), np.int32))
        return DecoderCache(none, keys)

    def step(self, x: object, cache: DecoderCache) -> tuple[RaggedArray, DecoderCache]:
        """Return what the layer makes of the next places of sequences, and the cache with these.

        The rows have the same bits as in a call with the whole sequences. A step copies the cache's rows.

        Args:
            x: (B, n, hidden), float32: the places after those that the cache has, none or several of a sequence.
            cache: of `start`, or of the step before; it is only read.

        Returns:
            (B, n, hidden) in memory of the caller's, and a new cache.

        Raises:
            DataError: shapes, dtypes or batches do not fit together.
            ModelError: there are no parameters yet.
        """
        rows = _read("x", x)
        if len(rows) != len(cache):
            raise DataError(
                f"TransformerDecoderLayer: 'x' has {len(rows)} sequences, and the cache {len(cache)}",
                fix="layer.start(memory) with as many sequences, and rows without places for those that end",
            )
        results = self.step_function(x=rows, seen=cache.seen, memory=cache.memory)
        result, kept = results.values()
        return result, DecoderCache(kept, cache.memory)

    def _of(self, mode: str) -> ragged.RaggedFunction:
        own = self.hidden, self.heads, self.ff, self.activation, self.norm_first, self.eps, self.bias

        def build() -> RaggedSchedule:
            if mode == "start":
                return _start(self.hidden, self.bias)
            return _program(mode, *own, queries_per_tile(self._options))

        return self._function(mode, own, build, lambda state: _params(mode, state))


def _read(name: str, x: object) -> RaggedArray:
    return as_ragged(f"TransformerDecoderLayer: '{name}'", x, 3)


def _params(mode: str, state: Mapping[str, Array]) -> dict[str, Array]:
    """Return the parameters of the program of a mode; only that of whole sequences has all of them."""
    cross = attention_params("cross", below("multihead_attn", state))
    if mode == "start":
        return {name: array for name, array in cross.items() if name.startswith("kv_")}
    own = {name: array for name, array in state.items() if not name.startswith("multihead_attn.")}
    others = {name: array for name, array in cross.items() if mode == "whole" or not name.startswith("kv_")}
    return {**bound_names(own), **{f"cross_{name}": array for name, array in others.items()}}


def _start(hidden: int, bias: bool) -> RaggedSchedule:
    result = affine("kv", sequences().rows("memory", hidden), hidden, 2 * hidden, bias=bias)
    s = ragged.Schedule(result, name="decoder_start")
    fuse_rows(s, result)
    return s


@dataclass(frozen=True, slots=True)
class _SelfAttention:
    """The self-attention of rows: their product with three matrices, and in a step all keys and values, `kept`."""

    qkv: RaggedTensor
    mixed: Attention
    kept: RaggedTensor | None


def _self_attention(
    rows: RaggedTensor, queries: Sequences, heads: int, hidden: int, bias: bool, step: bool, size: int
) -> _SelfAttention:
    qkv = affine("self_attn_in_proj", rows, hidden, 3 * hidden, bias=bias)
    width = hidden // heads
    q, k, v = (heads_of(qkv, width, part * hidden) for part in range(3))
    if not step:
        own = attention("mixed", heads, width, queries, queries, q, k, v, size=size, scoring=CAUSAL)
        return _SelfAttention(qkv, own, None)
    before = sequences("_seen", queries.batch, queries.size)
    seen, past, n = before.rows("seen", 2 * hidden), before.lengths, queries.lengths

    def both(b: ValueLike) -> Value:
        return past(b) + n(b)

    def element(b: Value, u: Value, i: Value) -> Value:
        return ragged.where(u < past(b), seen[b, u, i], qkv[b, u - past(b), hidden + i])

    keys = Sequences(queries.batch, queries.size, ragged.dim("length_kept"), both)
    kept = ragged.compute("kept", [*keys.dims, (ragged.dim("features"), 2 * hidden)], element)
    k, v = heads_of(kept, width), heads_of(kept, width, hidden)
    mixed = attention("mixed", heads, width, queries, keys, q, k, v, size=size, scoring=CAUSAL, start=past)
    return _SelfAttention(qkv, mixed, kept)


def _program(
    mode: str,
    hidden: int,
    heads: int,
    ff: int,
    act: Activation,
    norm_first: bool,
    eps: float,
    bias: bool,
    size: int,
) -> RaggedSchedule:
    """Return the schedule of whole sequences or of a step; parameters have the names that `_params` gives them."""
    queries = sequences()
    x, width = queries.rows("x", hidden), hidden // heads
    keys = sequences("_memory", queries.batch, queries.size)
    products: list[RaggedTensor] = []
    norms: list[Normalization] = []

    def norm(name: str, rows: RaggedTensor) -> RaggedTensor:
        norms.append(normalized(name, rows, hidden, eps, shift=bias))
        return norms[-1].result

    def product(name: str, rows: RaggedTensor, inner: int, outer: int, **more: Any) -> RaggedTensor:
        products.append(affine(name, rows, inner, outer, bias=bias, **more))
        return products[-1]

    def before(name: str, rows: RaggedTensor) -> RaggedTensor:
        return norm(name, rows) if norm_first else rows

    def after(name: str, rows: RaggedTensor) -> RaggedTensor:
        return rows if norm_first else norm(name, rows)

    own = _self_attention(before("norm1", x), queries, heads, hidden, bias, mode == "step", size)
    products.append(own.qkv)
    rows = product("self_attn_out_proj", own.mixed.result, hidden, hidden, residual=x, read=own.mixed.read)
    rows = after("norm1", rows)

    q = product("cross_q", before("norm2", rows), hidden, hidden)
    if mode == "step":
        kv = keys.rows("memory", 2 * hidden)
    else:
        kv = product("cross_kv", keys.rows("memory", hidden), hidden, 2 * hidden)
    reads = heads_of(q, width), heads_of(kv, width), heads_of(kv, width, hidden)
    cross = attention("cross", heads, width, queries, keys, *reads, size=size)
    rows = product("cross_out", cross.result, hidden, hidden, residual=rows, read=cross.read)
    rows = after("norm2", rows)

    wide = product("linear1", before("norm3", rows), hidden, ff, act=act)
    rows = after("norm3", product("linear2", wide, ff, hidden, residual=rows))

    outputs = [rows] if own.kept is None else [rows, own.kept]
    s = ragged.Schedule(*outputs, name=f"decoder_{mode}")
    own.mixed.decide(s)
    cross.decide(s)
    for each in norms:
        each.decide(s)
    own.mixed.arrange(s)
    cross.arrange(s)
    fuse_rows(s, *products, *outputs[1:], *(each.result for each in norms))
    return s
