"""Names for symbols: valid ones, and one for each symbol in scope."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import iskeyword

from ragged.ir.dtype import DType
from ragged.ir.elementwise import FUNCTIONS, Elementwise
from ragged.ir.expr import Buffer, Dim, Function, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.stmt import Label


def unary_call(name: str) -> UnaryOp | Elementwise | None:
    """Return the operator of one operand that is written as a call of `name`; None if there is none."""
    return UnaryOp.ABS if name == UnaryOp.ABS.value else FUNCTIONS.get(name)


BINARY_CALLS = {op.value: op for op in (BinaryOp.MIN, BinaryOp.MAX, BinaryOp.PAIR, BinaryOp.DOT)}
"""The operators of two operands that are written as calls."""

DTYPES = {dtype.value: dtype for dtype in DType}

_WORDS = ("abs", "neg", "fma", "const", "inf", "nan", "local", "reduce")


def reserved_words() -> frozenset[str]:
    """Return the words that mean something in an expression: no variable, function or buffer is named so."""
    return frozenset({*FUNCTIONS, *BINARY_CALLS, *DTYPES, *_WORDS})


@lru_cache(maxsize=1 << 12)
def identifier(name: str) -> str:
    """Return the Python identifier nearest to `name`."""
    text = "".join(c if f"_{c}".isidentifier() else "_" for c in unicodedata.normalize("NFKC", name)) or "_"
    if not text.isidentifier():
        text = f"_{text}"
    return f"{text}_" if iskeyword(text) else text


def dotted(name: str) -> str:
    """Return the dotted Python name nearest to `name`."""
    return ".".join(identifier(part) for part in name.split("."))


@dataclass(slots=True)
class Namespace:
    """The names in use at one place; a name that is taken gets a number."""

    reserved: frozenset[str] = frozenset()
    names: dict[object, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def bind(self, symbol: object, name: str) -> str:
        """Give `symbol` a name like `name` that no other has, unless it has one, and return it."""
        if symbol in self.names:
            return self.names[symbol]
        free, number = name, 0
        while free in self.taken or free in self.reserved:
            number += 1
            free = f"{name}_{number}"
        self.names[symbol] = free
        self.taken.add(free)
        return free

    def release(self, symbol: object) -> None:
        """Let others have the name of `symbol`."""
        self.taken.discard(self.names.pop(symbol, ""))


@dataclass(slots=True)
class Names:
    """The names of everything in a text. Values, dims and labels never stand in one place, and share none.

    A symbol that nothing has bound is named where it is first met: invalid programs print as well.
    """

    values: Namespace = field(default_factory=lambda: Namespace(reserved_words()))
    dims: Namespace = field(default_factory=Namespace)
    labels: Namespace = field(default_factory=Namespace)

    def value(self, symbol: Var | Function | Buffer) -> str:
        """Return the name of a variable, function or buffer."""
        return self.values.bind(symbol, identifier(symbol.name))

    def dim(self, dim: Dim | None) -> str:
        """Return the name of a dimension."""
        return "None" if dim is None else self.dims.bind(dim, identifier(dim.name))

    def label(self, label: Label) -> str:
        """Return the name of a label."""
        return self.labels.bind(label, dotted(label.name))

    @contextmanager
    def scope(self, *symbols: Var | Buffer) -> Iterator[None]:
        """Name `symbols` for as long as the context lasts."""
        fresh = [symbol for symbol in symbols if symbol not in self.values.names]
        for symbol in fresh:
            self.value(symbol)
        yield
        for symbol in fresh:
            self.values.release(symbol)
