"""Multi-head attention, with the state of torch.nn.MultiheadAttention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, Unpack, assert_never

import numpy as np

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import RaggedTensor
from ragged.api.values import Value
from ragged.errors import Location, ModelError
from ragged.ops.attend import CAUSAL, PLAIN, Read, attention, queries_per_tile
from ragged.ops.blocks import affine
from ragged.ops.compiled import CompileArgs, Options
from ragged.ops.dims import sequences
from ragged.ops.module import Module
from ragged.ops.operands import as_ragged, count_of
from ragged.ops.rows import fuse_rows
from ragged.ops.state import Array, Shapes

Mode: TypeAlias = Literal["self", "cross", "separate"]
"""What keys and values are of: the queries' own rows, rows of a memory, or rows of two."""


class MultiheadAttention(Module):
    """Multi-head attention of torch.nn.MultiheadAttention (batch first, no dropout), over sequences of any lengths.

    `hidden` features in `heads` heads; keys of `kdim` and values of `vdim` features (`hidden` if None). With `causal` a
    place sees those up to its own. `compile_args` are as `ragged.compile` takes them: with `precision="bf16"`
    products with parameters are rounded. Raises `ModelError` if `heads` do not divide `hidden`.

    Example:
        >>> layer = MultiheadAttention(512, 8)
        >>> layer.load_state_dict(torch_attention.state_dict())
        >>> y, z = layer(x), layer(x, memory)
    """

    def __init__(
        self,
        hidden: int,
        heads: int,
        *,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        causal: bool = False,
        **compile_args: Unpack[CompileArgs],
    ) -> None:
        super().__init__(Options.of(compile_args))
        self.hidden, self.heads = check_heads(hidden, heads)
        self.bias, self.causal = bias, causal
        self.kdim = self.hidden if kdim is None else count_of("kdim", kdim)
        self.vdim = self.hidden if vdim is None else count_of("vdim", vdim)

    @property
    def shapes(self) -> Shapes:
        """As in torch's state: `in_proj_weight`, or with other `kdim` or `vdim` one for each of three; and the rest."""
        return attention_shapes(self.hidden, self.kdim, self.vdim, self.bias)

    @property
    def function(self) -> ragged.RaggedFunction:
        """The compiled function of self-attention, of `x`."""
        return self._of("self")

    def __call__(self, query: object, key: object = None, value: object = None) -> RaggedArray:
        """Return (B, n, hidden): what each place of the queries' sequences makes of its own sequence of keys.

        Args:
            query: (B, n, hidden), float32.
            key: (B, m, kdim), of other lengths; None: the queries' own rows.
            value: (B, m, vdim), of the keys' lengths; None: the keys' rows.

        Raises:
            DataError: shapes, dtypes or lengths do not fit together.
            ModelError: there are no parameters yet; or self-attention of other `kdim` or `vdim`.
        """
        given = {"x": as_ragged("MultiheadAttention: 'query'", query, 3)}
        if key is None and value is not None:
            raise ModelError("MultiheadAttention: values without keys", at=Location.capture())
        mode: Mode = "self" if key is None else "cross" if value is None or value is key else "separate"
        if key is not None:
            given["key"] = as_ragged("MultiheadAttention: 'key'", key, 3)
        if mode == "separate":
            given["value"] = as_ragged("MultiheadAttention: 'value'", value, 3)
        result: RaggedArray = self._of(mode)(**given)
        return result

    def _of(self, mode: Mode) -> ragged.RaggedFunction:
        widths = {
            "self": {self.hidden, self.kdim, self.vdim},
            "cross": {self.kdim, self.vdim},
            "separate": {0},
        }
        if len(widths[mode]) > 1:
            raise ModelError(
                f"MultiheadAttention: keys have {self.kdim} features and values {self.vdim}: they are not one array",
                at=Location.capture(),
                fix="layer(query, key, value)",
            )
        own = self.hidden, self.heads, self.kdim, self.vdim, self.bias, self.causal
        return self._function(
            mode,
            own,
            lambda: _program(mode, *own, queries_per_tile(self._options)),
            lambda state: attention_params(mode, state),
        )


def check_heads(hidden: int, heads: int) -> tuple[int, int]:
    """Return the number of features and that of heads; `ModelError` if that does not divide it."""
    features, count = count_of("hidden", hidden, 1), count_of("heads", heads, 1)
    if features % count:
        raise ModelError(f"{hidden} features are no {heads} heads of one width", at=Location.capture())
    return features, count


def attention_shapes(hidden: int, kdim: int, vdim: int, bias: bool) -> Shapes:
    """Return the names and shapes of torch.nn.MultiheadAttention's state."""
    biases = {"in_proj_bias": (3 * hidden,), "out_proj.bias": (hidden,)} if bias else {}
    shapes: dict[str, tuple[int, ...]] = {"out_proj.weight": (hidden, hidden), **biases}
    if kdim == vdim == hidden:
        return {"in_proj_weight": (3 * hidden, hidden), **shapes}
    return {
        "q_proj_weight": (hidden, hidden),
        "k_proj_weight": (hidden, kdim),
        "v_proj_weight": (hidden, vdim),
        **shapes,
    }


def heads_of(tensor: RaggedTensor, width: int, start: int = 0) -> Read:
    """Return how a head's elements are read from (batch, length, features), where its first head begins at `start`."""

    def read(b: Value, t: Value, h: Value, d: Value) -> Value:
        return tensor[b, t, start + h * width + d]

    return read


_PROJECTIONS: dict[Mode, tuple[str, ...]] = {
    "self": ("qkv",),
    "cross": ("q", "kv"),
    "separate": ("q", "k", "v"),
}
"""The products of rows with rows of the one matrix, or of those side by side: each as many as it has letters."""


def attention_params(mode: Mode, state: Mapping[str, Array]) -> dict[str, Array]:
    """Return the weights and biases of the products of a mode, and of `out`, cut from torch's."""
    hidden = len(state["out_proj.weight"])
    if "in_proj_weight" in state:
        weights = dict(zip("qkv", np.split(state["in_proj_weight"], 3), strict=True))
    else:
        weights = {letter: state[f"{letter}_proj_weight"] for letter in "qkv"}
    found = {"out_weight": state["out_proj.weight"]}
    for name in _PROJECTIONS[mode]:
        found[f"{name}_weight"] = np.concatenate([weights[letter] for letter in name])
    if "in_proj_bias" in state:
        found["out_bias"] = state["out_proj.bias"]
        for name in _PROJECTIONS[mode]:
            start = "qkv".index(name[0]) * hidden
            found[f"{name}_bias"] = state["in_proj_bias"][start : start + len(name) * hidden]
    return found


def _program(
    mode: Mode, hidden: int, heads: int, kdim: int, vdim: int, bias: bool, causal: bool, size: int
) -> RaggedSchedule:
    width = hidden // heads
    queries = sequences()
    keys = queries if mode == "self" else sequences("_keys", queries.batch, queries.size)
    inputs = {"q": queries.rows("x", hidden)}
    match mode:
        case "self":
            inputs["qkv"] = inputs["q"]
        case "cross":
            inputs["kv"] = keys.rows("key", kdim)
        case "separate":
            inputs |= {"k": keys.rows("key", kdim), "v": keys.rows("value", vdim)}
        case _:
            assert_never(mode)
    dims = {"q": hidden, "k": kdim, "v": vdim}
    products = {
        name: affine(name, inputs[name], dims[name[0]], len(name) * hidden, bias=bias)
        for name in _PROJECTIONS[mode]
    }
    reads = {
        letter: heads_of(product, width, place * hidden)
        for name, product in products.items()
        for place, letter in enumerate(name)
    }
    mixed = attention(
        "mixed",
        heads,
        width,
        queries,
        keys,
        reads["q"],
        reads["k"],
        reads["v"],
        size=size,
        scoring=CAUSAL if causal else PLAIN,
    )
    result = affine("out", inputs["q"], hidden, hidden, bias=bias, read=mixed.read)
    s = ragged.Schedule(result, name="attention")
    mixed.decide(s)
    mixed.arrange(s)
    fuse_rows(s, *products.values(), result)
    return s
