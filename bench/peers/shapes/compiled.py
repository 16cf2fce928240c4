"""This project: one function for all shapes of a problem, compiled when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, ClassVar

import numpy as np

import ragged
from bench.peers.shapes.peer import Call, ShapesPeer
from bench.shapes.problems import Array, BatchedProduct, Convolution, Dense, ShapesProblem, Sizes
from ragged import RaggedFunction, ScheduleOptions, Tensor
from ragged.api.values import Value
from ragged.codegen.elf import symbol_bytes

CODE_BYTES = 24_000
"""The most bytes of code of a function's variants."""


_DISPATCHES = 1000
"""Calls on no rows, of which the median counts."""
_NAMES = {Dense: ("rows", "k", "n"), BatchedProduct: ("batch", "m", "k", "n"), Convolution: ("batch",)}
"""The numbers of shapes that may be sizes."""


class Measured(ShapesPeer):
    """What differs between shapes is a size of the program: of arrays of a call, or of weights, bound once."""

    kinds = frozenset({Dense, BatchedProduct, Convolution})
    options = ScheduleOptions()
    code_bytes: ClassVar[int] = CODE_BYTES

    def __init__(self, problem: ShapesProblem) -> None:
        self._problem = problem
        self._function = self.compiled(problem.shapes)
        self._functions: dict[tuple[int, ...], RaggedFunction] = {}
        if not isinstance(first := problem.shapes[0], BatchedProduct):
            self._functions[first.weights] = self._function

    def call(self, sizes: Sizes, operands: Sequence[Array]) -> Call:
        """See `ShapesPeer`."""
        function, given = self._bound(sizes), dict(zip(("X", "Z"), operands, strict=False))
        return lambda: function(**given)

    def _bound(self, sizes: Sizes) -> RaggedFunction:
        """Return the function with the weights of a shape: nothing is compiled for it."""
        if isinstance(sizes, BatchedProduct):
            return self._function
        if sizes.weights not in self._functions:
            self._functions[sizes.weights] = self._function.with_params(self._params(sizes))
        return self._functions[sizes.weights]

    def details(self) -> dict[str, Any]:
        """See `ShapesPeer`."""
        function = self._function
        variants = sum("<= rows" in line for line in function.show("variants").splitlines())
        return {
            "code_bytes": _kernel_bytes(function),
            "variants": variants or None,
            "predicted": self._predicted(function),
            "dispatch_ns": self._dispatch_ns(function),
        }

    def compiled(self, shapes: Sequence[Sizes]) -> RaggedFunction:
        """Return the function of some shapes."""
        tensor, expected = program(shapes)
        return ragged.compile(
            tensor,
            self._params(shapes[0]),
            threads=self._problem.threads,
            shapes=expected or None,
            code_bytes=self.code_bytes,
            options=self.options,
        )

    def _params(self, sizes: Sizes) -> dict[str, Array]:
        """Return the weights of a shape; those of a convolution as (kernel, kernel, channels, filters)."""
        if isinstance(sizes, BatchedProduct):
            return {}
        weights = self._problem.weights(sizes)
        return {"W": weights.transpose(2, 3, 1, 0) if isinstance(sizes, Convolution) else weights}

    def _predicted(self, function: RaggedFunction) -> dict[str, float] | None:
        """Return the microseconds that the plan of each shape says; None where nothing is planned by sizes."""
        _, expected = program(self._problem.shapes)
        pairs = zip(self._problem.labels, expected, strict=False)
        plans = {label: function.plan(**sizes) for label, sizes in pairs}
        return {label: plan.nanoseconds / 1000 for label, plan in plans.items() if plan.parts} or None

    def _dispatch_ns(self, function: RaggedFunction) -> float | None:
        """Return the nanoseconds of a dense kernel on no rows: it decides what to run, and runs nothing."""
        first = self._problem.shapes[0]
        if not isinstance(first, Dense) or len({each.operands[0][0] for each in self._problem.shapes}) == 1:
            return None
        return 1000 * function.profile(_DISPATCHES, X=np.empty((0, first.k), np.float32)).kernel_us.median


def program(shapes: Sequence[Sizes]) -> tuple[Tensor, list[dict[str, int]]]:
    """Return the program of shapes of one kind, and its sizes in each.

    Numbers that differ between shapes are sizes; those that are always equal are one size. What divides all numbers of
    rows is a factor: 16 * T.
    """
    first = shapes[0]
    names = _NAMES[type(first)]
    columns = {name: tuple(int(getattr(each, name)) for each in shapes) for name in names}
    unit = gcd(*columns.get("rows", (1,)))
    sizes: dict[tuple[int, ...], tuple[str, Value]] = {}
    for name, values in columns.items():
        if len(set(values)) > 1 and values not in sizes:
            factor = unit if name == "rows" else 1
            size = ragged.size(name.upper(), min(values) // factor, max(values) // factor)
            sizes[values] = (name.upper(), factor * size if factor > 1 else size)
    of = {name: sizes[values][1] if values in sizes else values[0] for name, values in columns.items()}
    expected: list[dict[str, int]] = [
        {name: values[place] // (unit if name == "ROWS" else 1) for values, (name, _) in sizes.items()}
        for place in range(len(shapes) if sizes else 0)
    ]
    if isinstance(first, BatchedProduct):
        return _batched(of["batch"], of["m"], of["k"], of["n"], first.transposed), expected
    if isinstance(first, Convolution):
        return _convolution(of["batch"], first), expected
    return _dense(of["rows"], of["k"], of["n"]), expected


def _kernel_bytes(function: RaggedFunction) -> int | None:
    """Return the bytes of the kernel's functions in the shared library."""
    code = function._parts.kernel.code
    if code is None:
        return None
    return sum(size for name, size in symbol_bytes(code).items() if "kernel" in name) or None


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


def _convolution(batch: int | Value, of: Convolution) -> Tensor:
    names = ("batch", "y", "x", "channel", "filter", "ky", "kx")
    n, y, x, c, f, u, v = (ragged.dim(name) for name in names)
    side, border = of.side, of.kernel // 2
    images = ragged.input_tensor("X", [(n, batch), (y, side), (x, side), (c, of.channels)])
    taps = ragged.parameter("W", [(u, of.kernel), (v, of.kernel), (c, of.channels), (f, of.filters)])

    def element(i: Value, h: Value, w: Value, o: Value) -> Value:
        def term(a: Value, b: Value, channel: Value) -> Value:
            row, column = h + a - border, w + b - border
            inside = (row >= 0) & (row < side) & (column >= 0) & (column < side)
            read = images[i, row, column, channel]
            return (ragged.where(inside, read, 0.0) if border else read) * taps[a, b, channel, o]

        return ragged.sum((u, v, c), term)

    return ragged.compute("Y", [(n, batch), (y, side), (x, side), (f, of.filters)], element)
