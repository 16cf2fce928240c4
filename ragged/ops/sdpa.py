"""Scaled dot-product attention by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np

import ragged
from ragged import Lengths, RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.tensors import DimLike, RaggedTensor
from ragged.api.values import Value
from ragged.data.read import is_real, read_array
from ragged.errors import DataError
from ragged.ir.dtype import DType
from ragged.ops.attend import Adjust, Read, Scoring, attention, queries_per_tile
from ragged.ops.compiled import CompileArgs, Options, compiled
from ragged.ops.dims import Sequences, sequences
from ragged.ops.operands import as_ragged, float_type
from ragged.passes.hoist_checks import hoist_checks

_WHAT = "ragged.ops.scaled_dot_product_attention"


@dataclass(frozen=True, slots=True)
class _Form:
    """What the compiled code of an attention depends on; `heads` is None where arrays have no dimension of heads.

    `bias` and `mask` say whether each has a dimension of heads, None without one.
    """

    heads: int | None
    width: int
    before: int | None
    after: int | None
    scale: float | None
    bias: bool | None
    mask: bool | None
    alibi: bool
    rope: bool
    dtype: str


def _is_pair(given: object) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2


def _is_window(given: tuple[object, object]) -> bool:
    return _is_pair(given) and all(
        side is None or (type(side) is int and 0 <= side < 2**31) for side in given
    )


def scaled_dot_product_attention(
    query: object,
    key: object,
    value: object,
    *,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    scale: float | None = None,
    bias: object = None,
    mask: object = None,
    alibi: object = None,
    rope: tuple[object, object] | None = None,
    **compile_args: Unpack[CompileArgs],
) -> RaggedArray:
    """Return softmax(scale q k + bias) v for each head and each place of the queries' sequences.

    Scores are kept for a tile of queries only. Tiles of keys that `causal` and `window` hide are neither stored nor
    computed (CoRa, appendix D.3).

    Args:
        query: (B, n, heads, width), or (B, n, width) of one head; of one of the floats (`ragged.ops`).
        key: the same with lengths m of its own.
        value: as `key`, of its lengths.
        causal: whether later places are hidden: a place sees those up to its own.
        window: how many places before and after its own a place sees, (before, after); None for all of them.
        scale: what products are multiplied by; 1 / sqrt(width) if None.
        bias: added to the scaled products: (B, n, m), or (B, heads, n, m) with other numbers for each head; of
            the type of `query`, as all but `mask` are. Lists of B arrays (n, m), or (heads, n, m), will do.
        mask: where True, the key is seen: bool, of one of these shapes.
        alibi: slopes (heads,): `alibi[h] * abs(t - u)` is subtracted (Press et al., ICLR 2022).
        rope: the tables (cos, sin), each (places, width / 2), of rotary embeddings (Su et al., 2021): features d and
            d + width / 2 of a query or key at place t are rotated by the angle of [t, d].
        compile_args: `target`, `threads`, `precision`, `options` and `schedule`, as `ragged.compile` takes them.

    Returns:
        As `query`, in memory of the caller's; zeros where a place sees no keys.

    Raises:
        DataError: shapes, dtypes or lengths do not fit together; a place is beyond the tables of `rope`.

    Example:
        >>> y = scaled_dot_product_attention(q, k, v, causal=True, window=(128, 0), alibi=slopes)
    """
    given = {"query": query, "key": key, "value": value}
    given |= {name: _of_heads(name, x) for name, x in (("bias", bias), ("mask", mask)) if x is not None}
    arrays: dict[str, object] = {}
    read = {name: as_ragged(f"{_WHAT}: '{name}'", x) for name, x in given.items()}
    inner = tuple(extent for extent in read["query"].extents[2:] if isinstance(extent, int))
    if any(read[name].extents[2:] != inner for name in ("query", "key", "value")):
        shown = ", ".join(f"of {name} {read[name].extents[2:]}" for name in ("query", "key", "value"))
        raise DataError(
            f"{_WHAT}: heads and their widths differ, or vary",
            because=f"the dimensions after (B, n) are {shown}",
        )
    if len(inner) not in (1, 2):
        raise DataError(f"{_WHAT}: {len(inner) + 2} dimensions, not (B, n, heads, width) or (B, n, width)")
    pair = (None, None) if window is None else window
    if not _is_window(pair):
        raise DataError(
            f"{_WHAT}: window={window!r}",
            because="it is how many places before and after its own a place sees, integers of 32 bits from 0 up",
            fix="window=(places before, places after), with None for all of them",
        )
    before, after = pair
    if scale is not None and not is_real(scale):
        raise DataError(f"{_WHAT}: scale={scale!r}", because="products are multiplied by it, one number")
    for name in ("bias", "mask"):
        if name in read and not (len(read[name]) or len(read["query"])):
            del read[name]  # a list of no arrays
        elif name in read and read[name].ndim not in (3, 4):
            raise DataError(
                f"{_WHAT}: '{name}' has {read[name].ndim} dimensions, not (B, n, m) or (B, heads, n, m)"
            )
    if rope is not None:
        if not _is_pair(rope):
            raise DataError(f"{_WHAT}: rope= is no pair of tables", fix="rope=(cos, sin)")
        if inner[-1] % 2:
            raise DataError(
                f"{_WHAT}: rope= of an odd width, {inner[-1]}", because="features rotate in pairs"
            )
        arrays |= {"cos": rope[0], "sin": rope[1]}
    if alibi is not None:
        numbers = isinstance(alibi, list | tuple)
        arrays["alibi"] = np.asarray(alibi, float_type(read["query"])) if numbers else alibi
    form = _Form(
        inner[0] if len(inner) == 2 else None,
        inner[-1],
        before,
        after if not causal else 0,
        scale,
        read["bias"].ndim == 4 if "bias" in read else None,
        read["mask"].ndim == 4 if "mask" in read else None,
        alibi is not None,
        rope is not None,
        float_type(read["query"]),
    )
    options = Options.of(compile_args)
    function = compiled((_WHAT, form), lambda: _program(form, queries_per_tile(options, form.dtype)), options)
    flat: RaggedArray = function(**read, **arrays)
    return ragged.array(flat.values, extents=(*flat.extents[:2], *inner))


def _of_heads(name: str, given: object) -> object:
    """Return arrays (n, m) or (heads, n, m) of several structures as one with B before; anything else as it is."""
    if not isinstance(given, list | tuple) or not given or isinstance(given[0], int | float):
        return given
    arrays = [read_array(f"{_WHAT}: '{name}'", x) for x in given]
    if arrays[0].ndim not in (2, 3):
        return given
    kinds = sorted(
        {" of ".join((*(f"{heads} heads" for heads in x.shape[:-2]), str(x.dtype))) for x in arrays}
    )
    if len(kinds) > 1 or any(x.ndim != arrays[0].ndim for x in arrays):
        raise DataError(f"{_WHAT}: '{name}' has arrays of {' and of '.join(kinds)}")
    rows, columns = (Lengths((0,), [x.shape[dim] for x in arrays]) for dim in (-2, -1))
    values = np.concatenate([x.reshape(-1) for x in arrays])
    return ragged.array(values, extents=(len(arrays), *arrays[0].shape[:-2], rows, columns))


def _program(form: _Form, size: int) -> RaggedSchedule:
    queries = sequences()
    keys = sequences("_keys", queries.batch, queries.size)
    reads = [_features(form, of, name) for of, name in ((queries, "query"), (keys, "key"), (keys, "value"))]
    rotated = _rotated(form, (queries, keys), reads) if form.rope else []
    reads[: len(rotated)] = [partial(_feature, tensor) for tensor in rotated]
    scoring = Scoring(form.before, form.after, form.scale, *_adjust(form, queries, keys))
    result = attention(
        "attention",
        1 if form.heads is None else form.heads,
        form.width,
        queries,
        keys,
        *reads,
        size=size,
        scoring=scoring,
        dtype=form.dtype,
    )
    s = ragged.Schedule(result.result)
    for tensor in rotated:
        _, _, _, half, place = tensor.dims
        s.fuse_dimensions(half, place)
    result.decide(s)
    s.apply(hoist_checks)  # that tables have rows for all places, once instead of for each feature
    for tensor in rotated:
        s.fuse_loops(tensor.loops[0], tensor.loops[1])
    result.arrange(s)
    return s


def _heads(form: _Form, apart: bool) -> list[DimLike]:
    return [(ragged.dim("head"), 1 if form.heads is None else form.heads)] if apart else []


def _features(form: _Form, of: Sequences, name: str) -> Read:
    apart = form.heads is not None
    dims = [*of.dims, *_heads(form, apart), (ragged.dim("place"), form.width)]
    tensor = ragged.input_tensor(name, dims, form.dtype)
    return lambda b, t, h, d: tensor[b, t, h, d] if apart else tensor[b, t, d]


def _rotated(form: _Form, parts: Sequence[Sequences], reads: Sequence[Read]) -> list[RaggedTensor]:
    """Return queries and keys with their rows rotated by the angles of their places, by halves of the features."""
    half = form.width // 2
    table: list[DimLike] = [(ragged.dim("at"), ragged.size("places")), (ragged.dim("pair"), half)]
    cos, sin = (ragged.input_tensor(name, table, form.dtype) for name in ("cos", "sin"))

    def rotated(name: str, of: Sequences, x: Read) -> RaggedTensor:
        def element(b: Value, t: Value, h: Value, upper: Value, d: Value) -> Value:
            other = x(b, t, h, (1 - upper) * half + d) * sin[t, d]
            return x(b, t, h, upper * half + d) * cos[t, d] + ragged.where(upper < 1, -other, other)

        dims = [*of.dims, *_heads(form, apart=True), (ragged.dim("half"), 2), (ragged.dim("place"), half)]
        return ragged.compute(name, dims, element)

    return [rotated(*each) for each in zip(("rotated_query", "rotated_key"), parts, reads, strict=False)]


def _feature(rotated: RaggedTensor, b: Value, t: Value, h: Value, d: Value) -> Value:
    half = rotated.dims[4].extent
    return rotated[b, t, h, d // half, d % half]


def _adjust(form: _Form, queries: Sequences, keys: Sequences) -> tuple[Adjust | None, tuple[Read, ...]]:
    """Return what adds the bias, subtracts the slopes' part and hides what the mask does, and what it reads besides."""
    beside: dict[str, Read] = {}

    def declare(name: str, apart: bool, dtype: str) -> None:
        batch, place = queries.dims
        tensor = ragged.input_tensor(name, [batch, *_heads(form, apart), place, keys.dims[1]], dtype)
        # numbers, as a mask's are, are turned side by side
        beside[name] = lambda b, h, t, u: ragged.cast(
            tensor[b, h, t, u] if apart else tensor[b, t, u], computed
        )

    computed = DType(form.dtype).computed.value
    if form.bias is not None:
        declare("bias", form.bias, form.dtype)
    slopes = ragged.input_tensor("alibi", _heads(form, apart=True), form.dtype) if form.alibi else None
    if form.mask is not None:
        declare("mask", form.mask, "bool")

    def adjust(score: Value, b: Value, h: Value, t: Value, u: Value, *elements: Value) -> Value:
        read = dict(zip(beside, elements, strict=True))
        if "bias" in read:
            score = score + read["bias"]
        if slopes is not None:
            score = score - slopes[h] * ragged.cast(abs(t - u), score.dtype)
        return ragged.where(read["mask"] != 0.0, score, float("-inf")) if "mask" in read else score

    return (adjust if beside or form.alibi else None), tuple(beside.values())
