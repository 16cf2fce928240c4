"""Scaled dot-product attention by itself."""

from __future__ import annotations

import ragged
from ragged import RaggedArray
from ragged.api.schedule import RaggedSchedule
from ragged.api.values import Value
from ragged.errors import DataError
from ragged.ops.attend import Read, attention
from ragged.ops.compiled import Options, compiled
from ragged.ops.dims import Sequences, sequences
from ragged.ops.operands import as_ragged


def scaled_dot_product_attention(
    query: object,
    key: object,
    value: object,
    *,
    causal: bool = False,
    target: str = "cpu",
    threads: int | None = None,
) -> RaggedArray:
    """Return softmax(q k / sqrt(width)) v for each head and each place of the queries' sequences.

    Scores are kept for a tile of queries only. With `causal` they are a triangle (CoRa, appendix D.3): a place sees
    those up to its own, and tiles beyond are neither stored nor computed.

    Args:
        query: (B, n, heads, width), or (B, n, width) of one head; float32.
        key: the same with lengths m of its own.
        value: as `key`, of its lengths.
        causal: whether later places are masked.
        target: as `ragged.compile` takes it.
        threads: the same.

    Returns:
        As `query`, in memory of the caller's; zeros where a sequence has no keys.

    Raises:
        DataError: shapes, dtypes or lengths do not fit together.
    """
    given = {"query": query, "key": key, "value": value}
    what = "ragged.ops.scaled_dot_product_attention"
    arrays = {name: as_ragged(f"{what}: '{name}'", x) for name, x in given.items()}
    inner = tuple(extent for extent in arrays["query"].extents[2:] if isinstance(extent, int))
    if any(array.extents[2:] != inner for array in arrays.values()):
        raise DataError(f"{what}: heads and their widths differ, or vary")
    if len(inner) not in (1, 2):
        raise DataError(f"{what}: {len(inner) + 2} dimensions, not (B, n, heads, width) or (B, n, width)")
    function = compiled((what, inner, causal), lambda: _program(inner, causal), Options(target, threads))
    flat: RaggedArray = function(**arrays)
    return ragged.array(flat.values, extents=(*flat.extents[:2], *inner))


def _program(inner: tuple[int, ...], causal: bool) -> RaggedSchedule:
    heads, width = inner if len(inner) == 2 else (1, inner[0])
    queries = sequences()
    keys = sequences("_keys", queries.batch, queries.size)

    def read(of: Sequences, name: str) -> Read:
        own = [(ragged.dim("head"), heads)] if len(inner) == 2 else []
        tensor = ragged.input_tensor(name, [*of.dims, *own, (ragged.dim("place"), width)])

        def element(b: Value, t: Value, h: Value, d: Value) -> Value:
            return tensor[b, t, h, d] if own else tensor[b, t, d]

        return element

    result = attention(
        "attention",
        heads,
        width,
        queries,
        keys,
        read(queries, "query"),
        read(keys, "key"),
        read(keys, "value"),
        causal=causal,
    )
    s = ragged.Schedule(result.result)
    result.decide(s)
    result.arrange(s)
    return s
