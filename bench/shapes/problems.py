"""What is computed: products and convolutions of sizes that change from call to call, with inputs drawn from a seed.

Inputs of fewer rows, or of fewer images, are the first of those of more: so are their results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Dense:
    """Y (rows, n) = X (rows, k) Wᵀ, where W (n, k) is a parameter."""

    rows: int
    k: int
    n: int

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.rows * self.k * self.n

    @property
    def weights(self) -> tuple[int, ...]:
        """The shape of W."""
        return (self.n, self.k)

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays of a call."""
        return ((self.rows, self.k),)


@dataclass(frozen=True, slots=True)
class BatchedProduct:
    """Y (batch, m, n) = A (batch, m, k) B; B is (batch, n, k) if `transposed`, else (batch, k, n)."""

    batch: int
    m: int
    k: int
    n: int
    transposed: bool

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.batch * self.m * self.k * self.n

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays of a call."""
        rhs = (self.n, self.k) if self.transposed else (self.k, self.n)
        return ((self.batch, self.m, self.k), (self.batch, *rhs))


@dataclass(frozen=True, slots=True)
class Convolution:
    """Y (batch, side, side, filters) of images (batch, side, side, channels), stride 1, as large as the images.

    Weights are (filters, channels, kernel, kernel), a parameter.
    """

    batch: int
    side: int
    channels: int
    filters: int
    kernel: int

    @property
    def flops(self) -> int:
        """Multiplications and additions, those with the zeros of the border included."""
        return 2 * self.batch * self.side**2 * self.channels * self.filters * self.kernel**2

    @property
    def weights(self) -> tuple[int, ...]:
        """The shape of the weights."""
        return (self.filters, self.channels, self.kernel, self.kernel)

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays of a call."""
        return ((self.batch, self.side, self.side, self.channels),)


Sizes: TypeAlias = Dense | BatchedProduct | Convolution
KINDS: dict[type[Sizes], str] = {Dense: "dense", BatchedProduct: "batched", Convolution: "convolution"}


@dataclass(frozen=True, slots=True)
class ShapesProblem:
    """Shapes of one kind, for one function where a library has such a thing; `labels` say what changes."""

    name: str
    labels: tuple[str, ...]
    shapes: tuple[Sizes, ...]
    threads: int
    seed: int = 0

    @property
    def kind(self) -> type[Sizes]:
        """The kind of all shapes."""
        return type(self.shapes[0])

    def weights(self, sizes: Dense | Convolution) -> Array:
        """Return the parameter of a shape, drawn with deviation 1/sqrt(fan-in)."""
        shape = sizes.weights
        random = np.random.default_rng((self.seed, *shape))
        return random.standard_normal(shape, np.float32) * np.float32(np.prod(shape[1:]) ** -0.5)

    def operands(self, sizes: Sizes) -> tuple[Array, ...]:
        """Return the arrays of a call."""
        return tuple(
            np.random.default_rng((self.seed, number, *shape[1:])).standard_normal(shape, np.float32)
            for number, shape in enumerate(sizes.operands)
        )


def reference(problem: ShapesProblem, sizes: Sizes, operands: Sequence[Array]) -> NDArray[np.float64]:
    """Return the result in float64, by NumPy."""
    lhs, *rest = (each.astype(np.float64) for each in operands)
    match sizes:
        case Dense():
            return np.asarray(lhs @ problem.weights(sizes).astype(np.float64).T)
        case BatchedProduct():
            (rhs,) = rest
            return np.asarray(lhs @ (rhs.transpose(0, 2, 1) if sizes.transposed else rhs))
        case Convolution():
            return _convolved(lhs, problem.weights(sizes).astype(np.float64))


def _convolved(images: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add one product for each tap of the kernel, of images that are shifted by it."""
    *_, height, width = weights.shape
    _, rows, columns, _ = images.shape
    padded = np.pad(images, ((0, 0), (height // 2,) * 2, (width // 2,) * 2, (0, 0)))
    result = np.zeros((*images.shape[:3], len(weights)))
    for i in range(height):
        for j in range(width):
            result += padded[:, i : i + rows, j : j + columns] @ weights[:, :, i, j].T
    return result
