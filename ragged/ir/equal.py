"""Equality of programs up to the names of their symbols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TypeAlias, get_args

from ragged.ir.expr import Buffer, Const, Dim, Expr, Function, Var
from ragged.ir.printer import expr_text, stmt_text
from ragged.ir.program import Program
from ragged.ir.stmt import Block, Label, Stmt
from ragged.ir.text.decl_out import facts_by_function
from ragged.ir.text.expr_out import literal
from ragged.ir.walk import flat

Symbol: TypeAlias = Var | Dim | Buffer | Function | Label


def difference(a: Program, b: Program) -> str | None:
    """Return where two programs first differ and how, None if only in names, locations and how blocks nest.

    There must be a one-to-one map of the symbols of one (variables, dims, buffers, functions, labels) to those
    of the other that makes them equal. Facts must be the same of each function, in the same order.
    """
    match = _Match()
    try:
        match.same(a.functions, b.functions, "functions")
        match.same(a.buffers, b.buffers, "buffers")
        match.same(_facts(a), _facts(b), "facts")
        match.same(a.stages, b.stages, "stages")
    except _Different as where:
        return str(where)
    return None


def equal_stmts(a: Stmt, b: Stmt) -> bool:
    """Return whether two statements of one program do the same to the same functions and buffers.

    What they bind and how they are labelled may have other names; buffers of one name are one.
    """
    match = _Match()
    try:
        match.same(a, b, "statement")
    except _Different:
        return False
    return all(
        b is a or (isinstance(a, Buffer) and a.name == b.name)
        for a, b in match.forward.items()
        if isinstance(a, Function | Buffer)
    )


class _Different(Exception):
    """The first place where two programs differ."""


@dataclass(slots=True)
class _Match:
    """The symbols matched so far. Nodes are compared field by field, so that no field can be forgotten."""

    forward: dict[Symbol, Symbol] = field(default_factory=dict)
    backward: dict[Symbol, Symbol] = field(default_factory=dict)

    def same(self, a: object, b: object, place: str) -> None:
        """Return if `a` and `b`, which stand at `place`, are equal; else raise `_Different`."""
        if isinstance(a, Symbol) and isinstance(b, Symbol):
            self.symbols(a, b, place)
        elif isinstance(a, Block) or (isinstance(b, Block) and isinstance(a, Stmt)):
            self.suites(a, b, place)
        elif isinstance(a, tuple) and isinstance(b, tuple):
            self.each(a, b, place)
        elif type(a) is not type(b):
            raise _Different(f"{place}: {_said(a)} against {_said(b)}")
        elif isinstance(a, Const) and isinstance(b, Const):
            self.constants(a, b, place)
        elif is_dataclass(a):
            self.fields(a, b, place)
        elif a != b:
            raise _Different(f"{place}: {_said(a)} against {_said(b)}")

    def symbols(self, a: Symbol, b: Symbol, place: str) -> None:
        """Match two symbols: the first time by what they are, then by each other."""
        known = a in self.forward
        if self.forward.setdefault(a, b) is not b or self.backward.setdefault(b, a) is not a:
            raise _Different(f"{place}: '{a.name}' against '{b.name}'")
        if not known:
            self.fields(a, b, place)

    def suites(self, a: Stmt, b: object, place: str) -> None:
        """Compare statements of which one at least is a block."""
        self.each(flat(a), flat(b) if isinstance(b, Stmt) else (b,), place)

    def each(self, a: tuple[object, ...], b: tuple[object, ...], place: str) -> None:
        """Compare tuples element by element."""
        for position, (x, y) in enumerate(zip(a, b, strict=False)):
            self.same(x, y, f"{place}[{position}]")
        if len(a) != len(b):
            raise _Different(f"{place}: {len(a)} against {len(b)}")

    def constants(self, a: Const, b: Const, place: str) -> None:
        """Compare constants as they print: nan is nan, and -0.0 is not 0.0."""
        if a.dtype is not b.dtype or literal(a.value, a.dtype) != literal(b.value, b.dtype):
            raise _Different(f"{place}: {_said(a)} against {_said(b)}")

    def fields(self, a: object, b: object, place: str) -> None:
        """Compare two nodes of a kind, their names and locations apart."""
        if type(a) is not type(b):
            raise _Different(f"{place}: {_said(a)} against {_said(b)}")
        for part in _compared(a):
            self.same(getattr(a, part), getattr(b, part), f"{place}.{part}")


def _compared(node: object) -> Iterable[str]:
    assert is_dataclass(node)
    for part in fields(node):
        if part.compare and not (part.name == "name" and isinstance(node, Symbol)):
            yield part.name


def _facts(program: Program) -> tuple[tuple[object, ...], ...]:
    return tuple(tuple(stated) for stated in facts_by_function(program.functions, program.facts).values())


def _said(thing: object) -> str:
    """Return a short text of part of a program."""
    if isinstance(thing, Symbol):
        return f"'{thing.name}'"
    if isinstance(thing, get_args(Expr)):
        return f"'{expr_text(thing)}'"
    if isinstance(thing, get_args(Stmt)):
        return f"'{stmt_text(thing).splitlines()[0]}'"
    return repr(thing)
