"""The workloads: those of DietCode's section 6 and of its released code, and a stream of shapes never seen before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bench.shapes.problems import BatchedProduct, Convolution, Dense, ShapesProblem, Sizes

HEAD, BATCH, SEQUENCES = 64, 192, 16
"""A head's width; heads of a batch of 16 sequences; sequences of a dense workload: its rows are a multiple of it."""
LENGTHS = (5, 24, 43, 62, 81, 100, 119, 128)
"""The lengths T that the paper's released code measures."""
HIDDEN = ((768, 768), (3072, 768), (768, 3072), (768, 2304), (700, 1000), (768, 2303), (768, 2305))
"""(I, H) of BERT's layers, and three with an extent that no vector divides."""
BERT = HIDDEN[:4]
LAYERS = {"3x3 64": (56, 64, 64, 3), "1x1 256 to 64": (56, 256, 64, 1), "3x3 512": (7, 512, 512, 3)}
"""Layers of ResNet-50: side of the image, channels, filters, side of the kernel."""
STREAM = 768


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: lengths of the dense sweep and of batches of products, batches of images, fresh shapes.

    Of these there are `fresh` of up to so many rows for times, and `served` small ones for memory.
    """

    lengths: tuple[int, ...] = tuple(range(1, 129))
    batched: tuple[int, ...] = LENGTHS
    images: tuple[int, ...] = (16, 20, 24, 28, 32)
    fresh: int = 1000
    largest_fresh: int = 2048
    served: int = 10_000
    remainders: int = 32
    tuning_seconds: float = 60.0


def quick_extent() -> Extent:
    """Return an extent that takes two minutes: to see that all works, and about how fast."""
    return Extent((1, 2, 5, 24, 43, 64, 100, 128), (5, 43, 128), (16,), 40, 1024, 1000, 20, 10.0)


def tiny_extent() -> Extent:
    """Return the extent of tests."""
    return Extent((1, 2), (3,), (1,), 4, 8, 6, 3, 0.0)


def dense(lengths: Iterable[int], k: int, n: int, threads: int, name: str = "dense") -> ShapesProblem:
    """Return (16 T, k) times (n, k) transposed for all T of `lengths`."""
    every = tuple(lengths)
    shapes = tuple(Dense(SEQUENCES * length, k, n) for length in every)
    return ShapesProblem(name, tuple(f"T={length}" for length in every), shapes, threads)


def hidden(pairs: Iterable[tuple[int, int]], length: int, threads: int) -> ShapesProblem:
    """Return products with weights of all sizes (I, H), of 16 sequences of one length."""
    every = tuple(pairs)
    shapes = tuple(Dense(SEQUENCES * length, i, h) for i, h in every)
    return ShapesProblem("hidden", tuple(f"{i} x {h}" for i, h in every), shapes, threads)


def batched(lengths: Iterable[int], transposed: bool, threads: int, batch: int = BATCH) -> ShapesProblem:
    """Return attention's scores (T, 64) times (T, 64) transposed, or its mixing (T, T) times (T, 64)."""
    every = tuple(lengths)
    inner = [(HEAD, length) if transposed else (length, HEAD) for length in every]
    shapes = tuple(
        BatchedProduct(batch, length, k, n, transposed) for length, (k, n) in zip(every, inner, strict=True)
    )
    name = "batched scores" if transposed else "batched mixing"
    return ShapesProblem(name, tuple(f"T={length}" for length in every), shapes, threads)


def convolution(layer: str, images: Iterable[int], threads: int) -> ShapesProblem:
    """Return a layer of ResNet-50 for batches of images."""
    every, sizes = tuple(images), LAYERS[layer]
    shapes = tuple(Convolution(batch, *sizes) for batch in every)
    return ShapesProblem(f"conv {layer}", tuple(f"batch {batch}" for batch in every), shapes, threads)


def stream(extent: Extent, threads: int) -> ShapesProblem:
    """Return products of distinct numbers of rows in random order: each shape is new when it is first called."""
    return _fresh("stream", extent.fresh, extent.largest_fresh, STREAM, threads)


def served(extent: Extent, threads: int) -> ShapesProblem:
    """Return small products of distinct numbers of rows in random order, of which a process serves many."""
    return _fresh("memory", extent.served, extent.served, HEAD, threads)


def _fresh(name: str, count: int, largest: int, width: int, threads: int) -> ShapesProblem:
    order = np.random.default_rng(0).permutation(np.arange(1, largest + 1))[:count]
    shapes: tuple[Sizes, ...] = tuple(Dense(int(rows), width, width) for rows in order)
    return ShapesProblem(name, tuple(f"{rows} rows" for rows in order), shapes, threads)


def remainders(extent: Extent, threads: int) -> ShapesProblem:
    """Return products of few rows, most of which leave a remainder."""
    every = range(1, extent.remainders + 1)
    shapes = tuple(Dense(rows, 768, 2304) for rows in every)
    return ShapesProblem("remainders", tuple(f"{rows} rows" for rows in every), shapes, threads)


def workloads(extent: Extent, threads: int) -> dict[str, ShapesProblem]:
    """Return what is measured for each shape, by name; the stream is a measurement of its own."""
    longest = max(extent.lengths)
    found = [
        dense(extent.lengths, 768, 2304, threads),
        hidden(HIDDEN, min(64, longest), threads),
        batched(extent.batched, True, threads),
        batched(extent.batched, False, threads),
        *(convolution(layer, extent.images, threads) for layer in LAYERS),
    ]
    return {problem.name: problem for problem in found}
