"""This project: one function for all shapes of a problem, compiled when it is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import ragged
from bench.peers.shapes.peer import Call, ShapesPeer
from bench.shapes.problems import Array, BatchedProduct, Convolution, Dense, ShapesProblem, Sizes
from ragged import RaggedFunction, Tensor
from ragged.api.values import Value


class Measured(ShapesPeer):
    """What differs between shapes is a size of the program; weights of another shape are bound, not compiled for."""

    kinds = frozenset({Dense, BatchedProduct})

    def __init__(self, problem: ShapesProblem) -> None:
        self._problem = problem
        self._functions: dict[tuple[int, ...], RaggedFunction] = {}
        self._first = self._function(problem.shapes[0])

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        function = self._function(sizes)
        given = dict(zip(("X", "Z"), operands, strict=False))
        return lambda: function(**given)

    def _function(self, sizes: Sizes) -> RaggedFunction:
        """Return the function, with the weights of a shape."""
        key = () if isinstance(sizes, BatchedProduct) else sizes.weights
        if key not in self._functions:
            self._functions[key] = self._bound(sizes)
        return self._functions[key]

    def _bound(self, sizes: Sizes) -> RaggedFunction:
        params = {} if isinstance(sizes, BatchedProduct) else {"W": self._problem.weights(sizes)}
        if self._functions:
            return self._first.with_params(params)
        return ragged.compile(program(self._problem.shapes), params, threads=self._problem.threads)


def program(shapes: Sequence[Sizes]) -> Tensor:
    """Return the program of shapes of one kind; sizes that differ between them are symbols."""
    first = shapes[0]
    match first:
        case Dense():
            rows, k, n = (
                _extent(name, (getattr(each, name) for each in shapes)) for name in ("rows", "k", "n")
            )
            return _dense(rows, k, n)
        case BatchedProduct(transposed=transposed):
            batch, m, k, n = (
                _extent(name, (getattr(each, name) for each in shapes)) for name in ("batch", "m", "k", "n")
            )
            return _batched(batch, m, k, n, transposed)
        case Convolution():
            raise NotImplementedError("convolutions are no products here")


def _extent(name: str, values: Iterable[int]) -> int | Value:
    """Return a number that all values are, or a size."""
    found = set(values)
    return found.pop() if len(found) == 1 else ragged.size(name.upper())


def _dense(rows: int | Value, k: int | Value, n: int | Value) -> Tensor:
    r, c, s = ragged.dim("r"), ragged.dim("c"), ragged.dim("s")
    x = ragged.input_tensor("X", [(r, rows), (s, k)])
    w = ragged.parameter("W", [(c, n), (s, k)])
    return ragged.compute("Y", [(r, rows), (c, n)], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]))


def _batched(batch: int | Value, m: int | Value, k: int | Value, n: int | Value, transposed: bool) -> Tensor:
    b, r, c, s = (ragged.dim(name) for name in "brcs")
    x = ragged.input_tensor("X", [(b, batch), (r, m), (s, k)])
    if transposed:
        z = ragged.input_tensor("Z", [(b, batch), (c, n), (s, k)])
        return ragged.compute(
            "Y",
            [(b, batch), (r, m), (c, n)],
            lambda h, i, j: ragged.sum(k, lambda q: x[h, i, q] * z[h, j, q]),
        )
    z = ragged.input_tensor("Z", [(b, batch), (s, k), (c, n)])
    return ragged.compute(
        "Y",
        [(b, batch), (r, m), (c, n)],
        lambda h, i, j: ragged.sum(k, lambda q: x[h, i, q] * z[h, q, j]),
    )
