"""What is computed: operators, their sizes, and inputs that both sides draw from the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bench.lengths import Lengths

Array: TypeAlias = NDArray[np.float32]
Floats = TypeVar("Floats", bound=np.floating[Any])


class Operator(Enum):
    """What is measured; the names are those of the command line."""

    ENCODER_LAYER = "encoder_layer"
    DECODER_LAYER = "decoder_layer"
    ATTENTION = "attention"
    MASKED_ATTENTION = "masked_attention"
    LINEAR = "linear"
    SOFTMAX = "softmax"
    LAYER_NORM = "layer_norm"
    VGEMM = "vgemm"
    TRMM = "trmm"
    TRADD = "tradd"
    TRMUL = "trmul"


ON_MATRICES = frozenset({Operator.VGEMM, Operator.TRMM, Operator.TRADD, Operator.TRMUL})
"""The operators on matrices; the others are on sequences."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of an encoder or decoder layer: the widths of its rows, its heads, and the width between its two products."""

    hidden: int = 512
    heads: int = 8
    ff: int = 2048

    @property
    def head(self) -> int:
        """The width of a head."""
        return self.hidden // self.heads


def sizes_of(hidden: int) -> Sizes:
    """Return the sizes of a layer so wide: heads as near to 64 wide as divides it, and four times as wide between."""
    divisors = (n for n in range(1, hidden + 1) if hidden % n == 0)
    heads = min(divisors, key=lambda n: max(hidden / n / 64, 64 * n / hidden))
    return Sizes(hidden, heads, 4 * hidden)


@dataclass(frozen=True, slots=True)
class Rows:
    """Sequences of rows: `values` (sum of lengths, hidden) float32, one sequence after another."""

    lengths: Lengths
    values: Array


@dataclass(frozen=True, slots=True)
class Decoded:
    """Sequences of rows as in `Rows`, and of each one what it attends to: `memory` of `memory_lengths`, as wide."""

    lengths: Lengths
    values: Array
    memory_lengths: Lengths
    memory: Array


@dataclass(frozen=True, slots=True)
class Scores:
    """Attention scores: of each sequence (heads, length, length) float32, in `values` (all of them,) in turn."""

    lengths: Lengths
    heads: int
    values: Array

    def matrices(self) -> list[Array]:
        """Return each sequence's scores, views (heads, length, length)."""
        ends = np.cumsum(self.heads * self.lengths.astype(np.int64) ** 2)[:-1]
        parts = zip(np.split(self.values, ends), self.lengths.tolist(), strict=True)
        return [part.reshape(self.heads, length, length) for part, length in parts]


@dataclass(frozen=True, slots=True)
class Products:
    """Pairs of matrices (m, k) and (k, n) to multiply, each pair with sizes of its own."""

    lhs: list[Array]
    rhs: list[Array]


@dataclass(frozen=True, slots=True)
class Triangle:
    """A lower triangle (n, n), zeros above it, to multiply with a matrix (n, m)."""

    lower: Array
    rhs: Array


@dataclass(frozen=True, slots=True)
class Triangles:
    """Two lower triangles (n, n), zeros above them, to combine element by element."""

    left: Array
    right: Array


Inputs: TypeAlias = Rows | Decoded | Scores | Products | Triangle | Triangles


@dataclass(frozen=True, slots=True)
class Problem:
    """An operator with the shapes of the batches that it is measured on; the weights and inputs follow from the seed.

    `batches` has for each batch: lengths (sequences,), for vgemm (products, 3) m, n and k, for triangles (1,) n, for
    trmm (1, 2) n and m where the matrix is no square. Memories have the lengths of the sequences before them.
    """

    operator: Operator
    sizes: Sizes
    batches: tuple[Lengths, ...]
    threads: int
    seed: int

    def params(self) -> dict[str, Array]:
        """Return the layer's weights under the names of PyTorch's `TransformerEncoderLayer` or decoder layer."""
        return draw_params(self.sizes, self.seed, decoder=self.operator is Operator.DECODER_LAYER)

    @property
    def triangle(self) -> tuple[int, int]:
        """Of trmm: n and m."""
        n, *columns = self.batches[0].ravel().tolist()
        return n, columns[0] if columns else n

    def inputs(self, number: int) -> Inputs:
        """Return the inputs of a batch."""
        random = np.random.default_rng((self.seed, number))
        shape = self.batches[number]
        match self.operator:
            case Operator.VGEMM:
                lhs = [_normal(random, m, k) for m, _, k in shape.tolist()]
                return Products(lhs, [_normal(random, k, n) for _, n, k in shape.tolist()])
            case Operator.TRMM:
                n, m = self.triangle
                return Triangle(np.tril(_normal(random, n, n)), _normal(random, n, m))
            case Operator.TRADD | Operator.TRMUL:
                (n,) = shape.tolist()
                return Triangles(np.tril(_normal(random, n, n)), np.tril(_normal(random, n, n)))
            case Operator.SOFTMAX:
                elements = self.sizes.heads * int((shape.astype(np.int64) ** 2).sum())
                return Scores(shape, self.sizes.heads, _normal(random, elements))
            case Operator.DECODER_LAYER:
                rows, memory = (_normal(random, int(shape.sum()), self.sizes.hidden) for _ in "12")
                return Decoded(shape, rows, np.roll(shape, 1), memory)
            case _:
                return Rows(shape, _normal(random, int(shape.sum()), self.sizes.hidden))


def draw_params(sizes: Sizes, seed: int, *, decoder: bool = False) -> dict[str, Array]:
    """Return the weights of an encoder or decoder layer, with gains and biases that are not all one or zero."""
    random = np.random.default_rng((seed, 1 << 20))
    hidden, ff = sizes.hidden, sizes.ff
    products = {
        "self_attn.in_proj_": (3 * hidden, hidden),
        "self_attn.out_proj.": (hidden, hidden),
        "linear1.": (ff, hidden),
        "linear2.": (hidden, ff),
    }
    norms = ["norm1", "norm2"]
    if decoder:
        products |= {
            "multihead_attn.in_proj_": (3 * hidden, hidden),
            "multihead_attn.out_proj.": (hidden, hidden),
        }
        norms.append("norm3")
    found = {}
    for name, (rows, columns) in products.items():
        bound = columns**-0.5
        found[f"{name}weight"] = random.uniform(-bound, bound, (rows, columns)).astype(np.float32)
        found[f"{name}bias"] = random.uniform(-bound, bound, rows).astype(np.float32)
    for name in norms:
        found[f"{name}.weight"] = np.float32(1) + _normal(random, hidden) * np.float32(0.1)
        found[f"{name}.bias"] = _normal(random, hidden) * np.float32(0.1)
    return found


def split_rows(values: Array, lengths: Lengths) -> list[Array]:
    """Return each sequence's rows, views of all of them."""
    return np.split(values, np.cumsum(lengths)[:-1])


def pad_rows(sequences: Sequence[NDArray[Floats]]) -> NDArray[Floats]:
    """Return sequences of rows (length, width) as one array (sequences, largest length, width), zeros behind them."""
    first = sequences[0]
    padded = np.zeros((len(sequences), max(map(len, sequences)), first.shape[1]), first.dtype)
    for place, rows in zip(padded, sequences, strict=True):
        place[: len(rows)] = rows
    return padded


def pad_scores(matrices: Sequence[NDArray[Floats]]) -> NDArray[Floats]:
    """Return scores (heads, length, length) as one array (sequences, heads, largest, largest), zeros around them."""
    first = matrices[0]
    largest = max(matrix.shape[1] for matrix in matrices)
    padded = np.zeros((len(matrices), first.shape[0], largest, largest), first.dtype)
    for place, matrix in zip(padded, matrices, strict=True):
        place[:, : matrix.shape[1], : matrix.shape[2]] = matrix
    return padded


def outside(lengths: Lengths) -> NDArray[np.bool_]:
    """Return (sequences, largest length): whether a row is padding."""
    return np.asarray(np.arange(lengths.max()) >= lengths[:, None])


def _normal(random: np.random.Generator, *shape: int) -> Array:
    return random.standard_normal(shape, np.float32)
