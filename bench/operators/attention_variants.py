"""Attention under several schedules and with several options: masks, biases, and the sizes of its two products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import ragged
from bench.lengths import Lengths
from bench.operators.variants import Build, Variant, rows_of
from ragged import Schedule
from ragged.api.tensors import DimLike
from ragged.api.values import Value
from ragged.ops import scaled_dot_product_attention
from ragged.ops.attend import CAUSAL, Scoring, attention, queries_per_tile
from ragged.ops.compiled import Options
from ragged.ops.dims import sequences


def masked_variants(lengths: Lengths, heads: int, width: int, rng: np.random.Generator) -> list[Variant]:
    """Return attention of which a place sees those up to its own: all scores masked, and those of a triangle alone."""
    inputs = {
        name: ragged.array([rng.standard_normal((n, heads, width), np.float32) for n in lengths])
        for name in "qkv"
    }

    def hidden(score: Value, b: Value, h: Value, query: Value, key: Value) -> Value:
        return ragged.where(key <= query, score, float("-inf"))

    def build(scoring: Scoring) -> Build:
        def made() -> Schedule:
            of = sequences()
            dims: list[DimLike] = [*of.dims, (ragged.dim("head"), heads), (ragged.dim("place"), width)]
            q, k, v = (ragged.input_tensor(name, dims) for name in "qkv")
            found = attention(
                "Y",
                heads,
                width,
                of,
                of,
                *(lambda *at, x=x: x[at] for x in (q, k, v)),
                size=queries_per_tile(Options()),
                scoring=scoring,
            )
            s = Schedule(found.result)
            found.decide(s)
            found.arrange(s)
            return s

        return made

    return [
        Variant("all scores, masked", build(Scoring(adjust=hidden)), inputs),
        Variant("scores of a triangle", build(CAUSAL), inputs),
    ]


@dataclass(frozen=True, slots=True)
class OptionVariant:
    """`ragged.ops.scaled_dot_product_attention` with options."""

    name: str
    inputs: Mapping[str, Any]
    options: Mapping[str, Any]

    def call(self, threads: int) -> Callable[[], Any]:
        """Return a call on its inputs."""
        return lambda: scaled_dot_product_attention(**self.inputs, **self.options, threads=threads)

    def rows(self, result: Any) -> list[npt.NDArray[Any]]:
        """Return the rows of a result."""
        return rows_of(result)


def option_variants(
    lengths: Lengths, heads: int, width: int, rng: np.random.Generator
) -> list[OptionVariant]:
    """Return attention plain, and with each option such that it changes no answer: what it adds or hides is nothing."""
    inputs = {
        name: ragged.array([rng.standard_normal((n, heads, width), np.float32) for n in lengths])
        for name in ("query", "key", "value")
    }
    longest, pairs = int(max(lengths)), [(int(n), int(n)) for n in lengths]
    still = np.zeros((longest, width // 2), np.float32)
    options: dict[str, dict[str, Any]] = {
        "no option": {},
        "window": {"window": (longest, longest)},
        "bias": {"bias": ragged.array([np.zeros(pair, np.float32) for pair in pairs])},
        "mask": {"mask": ragged.array([np.ones(pair, np.bool_) for pair in pairs])},
        "alibi": {"alibi": np.zeros(heads, np.float32)},
        "rope": {"rope": (np.cos(still), np.sin(still))},
    }
    return [OptionVariant(name, inputs, each) for name, each in options.items()]


def attention_products(lengths: Lengths, heads: int, width: int) -> dict[str, npt.NDArray[np.integer[Any]]]:
    """Return the sizes (m, n, k) of attention's two products, one of each for every head of every sequence."""
    n = np.repeat(np.asarray(lengths, np.int64), heads)
    wide = np.full_like(n, width)
    return {
        "scores": np.stack([n, n, wide], axis=1),  # queries times keys, figures 20 and 21
        "values": np.stack([n, wide, n], axis=1),  # softmax times values, figure 14
    }
