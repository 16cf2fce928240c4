"""The rows: functions of examples/tc at the sizes of the paper and of its repository, and what they compute."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from mmap import mmap
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.tc.formulas import FORMULAS
from ragged import tc
from ragged.tc import TcFunction

Array: TypeAlias = NDArray[Any]
Operands: TypeAlias = dict[str, Any]
"""The arguments of a function by name, in order: arrays, and numbers for integer scalars."""
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tc"
SUFFIX = "_gradient"
"""What follows the name of a function in that of its gradient."""
RANDOM = "random sizes"
"""The group of products of random sizes: ours alone runs them, for all sizes and with sizes fixed."""
GRADIENT = "gradient"
"""The group of gradients by all parameters of floats, which ours and PyTorch's backward pass run, and of functions at
sizes that those of the gradients alone have."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A row: its name, a function of examples/tc, and the numbers of its sizes and integer scalars."""

    label: str
    function: str
    sizes: Mapping[str, int]
    group: str = ""

    @property
    def text(self) -> str:
        """The text that defines the function."""
        return definition(self.function)[0]

    @property
    def differentiated(self) -> str | None:
        """The function that it is the gradient of; None for others."""
        return self.function.removesuffix(SUFFIX) if self.function.endswith(SUFFIX) else None

    @property
    def flops(self) -> int:
        """Multiplications and additions of products and convolutions; 0 for others, which memory bounds.

        A gradient has twice as many: by each of two operands.
        """
        own, times = (self.differentiated, 2) if self.differentiated else (self.function, 1)
        return times * _FLOPS[own](**self.sizes) if own in _FLOPS else 0

    @property
    def bytes(self) -> int:
        """The bytes of all arguments that are read and of results, each once: of tables, of the rows that are named."""
        (text, function), sizes = definition(self.function), self.sizes
        shapes = function.shapes(sizes)
        domains = function.infer(**{name: sizes[name] for name in function.scalars}, **shapes)
        results = ([extent for _, extent in domain] for domain in domains.values())
        if self.differentiated is not None:  # its text calls no functions
            shapes = {
                name: each
                for name, each in shapes.items()
                if re.search(rf"\b{name}\(", text.partition("{")[2])
            }
        tables = {name: each for name, each in TABLES.get(self.function, {}).items() if name in shapes}
        rows = [(*shapes[indices], shapes[table][1]) for table, indices in tables.items()]
        others = [each for name, each in shapes.items() if name not in tables]
        return 4 * sum(map(prod, (*results, *rows, *others)))

    def operands(self) -> Operands:
        """Return arguments drawn from a seed, with deviation 1.

        Of a table only rows that are named are filled: the others are zeros, for which the system has no memory yet.
        """
        function, random = definition(self.function)[1], np.random.default_rng(0)
        shapes, tables = function.shapes(self.sizes), TABLES.get(self.function, {})
        found: Operands = {name: self.sizes[name] for name in function.scalars}
        for name, shape in shapes.items():
            if name in tables:
                indices = random.integers(0, shape[0], shapes[tables[name]], np.int32)
                pages = mmap(-1, 4 * prod(shape))  # the peers' allocator would clear memory that it has
                found[name] = np.frombuffer(pages, np.float32).reshape(shape)
                found[name][indices] = random.standard_normal((*indices.shape, shape[1]), np.float32)
                found[tables[name]] = indices
            elif name not in found:
                found[name] = random.standard_normal(shape, np.float32)
        return found if self.differentiated is None else found | self._saved(self.differentiated, found)

    def _saved(self, function: str, operands: Operands) -> Operands:
        """Return those outputs of a function that its gradient is given, of the arguments among its operands."""
        outputs = texts()[function][1].outputs
        if operands.keys().isdisjoint(outputs):
            return {}
        results = FORMULAS[function](np, *list(operands.values())[: self.arguments])
        results = results if isinstance(results, tuple) else (results,)
        return {name: each for name, each in zip(outputs, results, strict=True) if name in operands}

    @property
    def arguments(self) -> int:
        """The number of arguments of the function that it is, or is the gradient of."""
        function = texts()[self.differentiated or self.function][1]
        return len(function.scalars) + len(function.shapes(self.sizes))


TABLES = {
    "lookup": {"T": "I"},
    "two_lookups": {"T1": "I1", "T2": "I2"},
    "lookup_gradient": {"T": "I"},
}
"""The tables of a function, each with the numbers of the rows that are read of it, or that a gradient adds to."""
_FLOPS: dict[str, Callable[..., int]] = {
    "tmm": lambda M, K, N: 2 * M * K * N,
    "tbmm": lambda B, N, M, K: 2 * B * N * M * K,
    "tensordot": lambda N, C1, C2, C3, H, W: 2 * N * C1 * C2 * C3 * H * W,
    "kronecker": lambda M, D0, D1, D2, N0, N1, N2: (
        2 * M * (N0 * N1 * D2 * N2 + N0 * D1 * D2 * N1 + D0 * D1 * D2 * N0)
    ),
    "group_convolution": lambda N, G, F, C, H, W, KH, KW: (
        2 * N * G * F * C * (H - KH + 1) * (W - KW + 1) * KH * KW
    ),
    "strided_convolution": lambda N, F, C, H, W, KH, KW: (
        2 * N * F * C * ((H - KH) // 2 + 1) * ((W - KW) // 2 + 1) * KH * KW
    ),
    "masked_convolution": lambda N, F, C, H, W: 2 * N * F * C * H * W * 9,
    "mlp1": lambda B, M, N: 2 * B * M * N,
    "c3": lambda B, K, N: 2 * B * K * N,
    "mlp3": lambda B, N, P, Q, **sizes: 2 * B * (N * sizes["O"] + sizes["O"] * P + P * Q),
    "wavenet_block": lambda D, B, R, C, S, T: 2 * B * T * (4 * R * C + C * R + C * S),
    "distances": lambda M, N, K: 2 * M * N * K,
    "additive_scores": lambda B, Q, K, D: 2 * B * Q * K * D,
}


@cache
def texts() -> dict[str, tuple[str, TcFunction]]:
    """Return the functions of examples/tc by name, each with the text that defines it."""
    found = {}
    for path in sorted(FOLDER.glob("*.tc")):
        text = path.read_text(encoding="utf-8")
        lib = tc.define(text, name=path.name)
        found.update({name: (text, lib[name]) for name in lib.functions})
    return found


@cache
def definition(name: str) -> tuple[str, TcFunction]:
    """Return a function of examples/tc, or the gradient of one that is given its outputs, with the text of it."""
    if name in texts():
        return texts()[name]
    own = texts()[name.removesuffix(SUFFIX)][1]
    gradient = own.gradient(saved=own.outputs)
    return str(gradient), gradient


def _row(function: str, label: str | None = None, **sizes: int) -> Workload:
    numbers = label or " x ".join(map(str, sizes.values()))
    return Workload(f"{function} {numbers}", function, sizes)


def workloads() -> list[Workload]:
    """Return the rows."""
    return [
        _row("tmm", M=128, K=32, N=256),
        _row("tmm", M=128, K=1024, N=1024),
        _row("tmm", M=128, K=4096, N=16384),
        _row("tbmm", B=500, N=26, M=72, K=26),
        *(
            _row("group_convolution", f"{c} of {side}", N=32, G=32, F=c, C=c, H=side, W=side, KH=3, KW=3)
            for c, side in ((4, 56), (8, 28), (16, 14), (32, 7))
        ),
        _row("lookup", "1LUT", E=10_000_000, D=64, B=128, L=50),
        _row("two_lookups", "2LUT", E1=10_000_000, L1=50, E2=10_000_000, L2=50, D=64, B=128),
        _row("mlp1", B=128, M=2000, N=128),
        _row("c3", B=128, K=1000, N=1024),
        _row("mlp3", "128-64-32-2", B=128, N=128, O=64, P=32, Q=2),
        *(
            _row("kronecker", label, M=256, D0=16, D1=16, D2=16, N0=a, N1=b, N2=c)
            for label, a, b, c in (("1", 32, 32, 32), ("2", 64, 64, 64), ("3", 64, 128, 128))
        ),
        *(_row("wavenet_block", f"D = {d}", D=d, B=1, R=32, C=32, S=256, T=4000) for d in (1, 32)),
        _row("moments", N=128, K=2304),
        _row("moments", N=1024, K=36864),
        _row("group_norm", "4 x 512 x 12 x 12", N=4, G=32, D=16, H=12, W=12),
        _row("group_norm", "32 x 512 x 48 x 48", N=32, G=32, D=16, H=48, W=48),
        _row("layer_norm", N=4096, K=768),
        _row("softmax", N=512, D=1000),
        _row("distances", M=1024, K=64, N=1024),
        _row("additive_scores", B=8, Q=64, D=256, K=64),
        _row("tensordot", "32 x 512 x 8 x 2 x 28 x 28", N=32, C1=512, C2=8, C3=2, H=28, W=28),
        _row("max_pooling", "32 x 64 x 112 x 112", N=32, C=64, H=112, W=112),
        _row("strided_convolution", "7 x 7, 3 to 64", N=32, F=64, C=3, H=230, W=230, KH=7, KW=7),
        _row("masked_convolution", "3 x 3, 64 to 64", N=32, F=64, C=64, H=56, W=56),
    ]


def gradients() -> list[Workload]:
    """Return the rows of `GRADIENT`.

    A gradient by the table of 1LUT would have as many zeros as that; that of a convolution over 32 images is summed one
    term after another in float32, and off by more than answers may be.
    """
    chosen = (
        "group_convolution 16 of 14",
        "mlp3 128-64-32-2",
        "layer_norm 4096 x 768",
        "softmax 512 x 1000",
    )
    functions = {row.label: row for row in workloads()}
    own = [
        _row("lookup", "of 10,000 rows", E=10_000, D=64, B=128, L=50),
        _row("masked_convolution", "of 8 images", N=8, F=64, C=64, H=56, W=56),
    ]
    return [
        *(replace(row, group=GRADIENT) for row in own),
        *(
            Workload(f"gradient of {row.label}", f"{row.function}{SUFFIX}", row.sizes, GRADIENT)
            for row in (*own, *(functions[label] for label in chosen))
        ),
    ]


def random_products(count: int, largest: int = 1024) -> list[Workload]:
    """Return products of sizes drawn from a seed."""
    drawn = np.random.default_rng(0).integers(min(16, largest), largest + 1, (count, 3))
    return [
        Workload(f"{m} x {k} x {n}", "tmm", {"M": int(m), "K": int(k), "N": int(n)}, RANDOM)
        for m, k, n in drawn
    ]


def tiny_workloads() -> list[Workload]:
    """Return rows of the same functions and gradients that take no time: to see that all works."""
    small = {"KH": 3, "KW": 3, "H": 9, "W": 8, "G": 4, "E": 50, "E1": 50, "E2": 40}
    found: dict[str, Workload] = {}
    for row in [*workloads(), *gradients()]:
        sizes = {name: small.get(name, min(size, 5)) for name, size in row.sizes.items()}
        found.setdefault(row.function, Workload(f"{row.function} tiny", row.function, sizes, row.group))
    return list(found.values())
