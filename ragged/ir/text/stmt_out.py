"""Printing statements, one line for each, with the node that each line came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from ragged.ir.expr import Buffer, Const, Expr
from ragged.ir.nesting import Nesting
from ragged.ir.ops import Combiner
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Label,
    Leaf,
    Let,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)
from ragged.ir.text.decl_out import buffer_text
from ragged.ir.text.expr_out import literal, show, subscript
from ragged.ir.text.names import Names, dotted
from ragged.ir.walk import flat

INDENT = "    "


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, and the node that it prints."""

    text: str
    node: object = None


def identity_text(combiner: Combiner, buffer: Buffer) -> str | None:
    """Return what a reduction into `buffer` starts from unless it says otherwise: None if it must say."""
    identity = combiner.identity
    if buffer.dtype.is_float:
        return literal(identity, buffer.dtype)
    return str(int(identity)) if combiner in (Combiner.SUM, Combiner.PROD) else None


def starts_from_identity(reduce: Reduce) -> bool:
    """Return whether a reduction starts from its combiner's identity."""
    init, dtype = reduce.init, reduce.buffer.dtype
    return (
        isinstance(init, Const)
        and init.dtype is dtype
        and literal(init.value, dtype) == identity_text(reduce.combiner, reduce.buffer)
    )


def quoted(text: str) -> str:
    """Return `text` as a Python string, in double quotes where that needs no escapes."""
    single = repr(text)
    return f'"{single[1:-1]}"' if single[0] == "'" and '"' not in single else single


@dataclass(slots=True)
class StmtPrinter:
    """Writes statements as lines."""

    names: Names
    lines: list[Line] = field(default_factory=list)

    def emit(self, depth: int, text: str, node: object) -> None:
        """Write one line."""
        self.lines.append(Line(INDENT * depth + text, node))

    def suite(self, stmt: Stmt, depth: int, nesting: Nesting) -> None:
        """Write `stmt` as the whole of an indented suite."""
        before = len(self.lines)
        self.rest(stmt, depth, nesting)
        if len(self.lines) == before:
            self.emit(depth, "pass", stmt)

    def rest(self, stmt: Stmt, depth: int, nesting: Nesting) -> None:
        """Write `stmt` to the end of a suite; a let or alloc that ends before it gets a suite of its own."""
        parts = flat(stmt)
        for part in parts[:-1]:
            if isinstance(part, Let | Alloc):
                self.emit(depth, "with scope:", None)
                self.suite(part, depth + 1, nesting)
            else:
                self.stmt(part, depth, nesting)
        for part in parts[-1:]:
            self.stmt(part, depth, nesting)

    def stmt(self, stmt: Stmt, depth: int, nesting: Nesting) -> None:
        """Write a statement; a let or an allocation with the rest of the suite."""
        match stmt:
            case For():
                self.loop(stmt, depth, nesting)
            case Let(var=var, value=value, body=body):
                text = show(self.names, value)
                with self.names.scope(var):
                    self.emit(depth, f"{self.names.value(var)} = {text}", stmt)
                    self.rest(body, depth, nesting.in_let(var, value))
            case Alloc(buffer=buffer, body=body):
                text = buffer_text(self.names, buffer)
                with self.names.scope(buffer):
                    self.emit(depth, f"{self.names.value(buffer)} = {text}", stmt)
                    self.rest(body, depth, nesting.in_alloc(buffer))
            case If():
                self.branches(stmt, depth, nesting, "if")
            case Block():
                self.rest(stmt, depth, nesting)
            case _:
                self.emit(depth, self.leaf(stmt, nesting), stmt)

    def loop(self, loop: For, depth: int, nesting: Nesting) -> None:
        """Write a loop and its body."""
        dim = "" if loop.dim is None else f", {self.names.dim(loop.dim)}"
        head = f"{loop.kind.value}({show(self.names, loop.extent)}{dim})"
        with self.names.scope(loop.var):
            self.emit(depth, f"for {self.names.value(loop.var)} in {head}:", loop)
            self.suite(loop.body, depth + 1, nesting.in_loop(loop.var))

    def branches(self, branch: If, depth: int, nesting: Nesting, word: str) -> None:
        """Write a condition and its branches."""
        self.emit(depth, f"{word} {show(self.names, branch.condition)}:", branch)
        self.suite(branch.then, depth + 1, nesting)
        if branch.orelse is None:
            return
        match flat(branch.orelse):
            case (If() as other,):
                self.branches(other, depth, nesting, "elif")
            case _:
                self.emit(depth, "else:", None)
                self.suite(branch.orelse, depth + 1, nesting)

    def leaf(self, leaf: Leaf, nesting: Nesting) -> str:
        """Return the line of a labelled statement."""
        match leaf:
            case Store(label=label, buffer=buffer, indices=indices, value=value):
                return f"{self.target(buffer, indices, label)} = {show(self.names, value)}"
            case Reduce():
                return self.reduce(leaf, nesting)
            case Check(condition=condition, message=message, witness=witness):
                values = [show(self.names, value) for value in witness]
                parts = [show(self.names, condition), quoted(message), *values]
                return self.call("check", parts, leaf.label)
            case Barrier(scope=scope):
                return self.call("barrier", [scope.value], leaf.label)
            case Prefetch(value=value):
                return self.call("prefetch", [show(self.names, value)], leaf.label)
            case _:
                assert_never(leaf)

    def call(self, name: str, parts: list[str], label: Label) -> str:
        """Return a statement that is written as a call; one labelled like the call does not say so."""
        shown = self.shown(label, name)
        return f"{name}({', '.join(parts if shown is None else [*parts, f'label={shown}'])})"

    def shown(self, label: Label, default: str) -> str | None:
        """Return the name of a label, None if it is the one that the parser gives."""
        if dotted(label.name) == default:
            return None  # however many others there are: they say enough by where they stand
        text = self.names.label(label)
        return None if text == default else text

    def target(self, buffer: Buffer, indices: tuple[Expr, ...], label: Label) -> str:
        """Return what stands left of `=`; a statement labelled like its buffer does not say so."""
        place = f"{self.names.value(buffer)}[{subscript(self.names, indices)}]"
        shown = self.shown(label, self.names.value(buffer))
        return place if shown is None else f"{place}: {shown}"

    def reduce(self, reduce: Reduce, nesting: Nesting) -> str:
        """Return a reduction's line: `+=` for a sum from zero over the default axes."""
        target = self.target(reduce.buffer, reduce.indices, reduce.label)
        parts = [reduce.combiner.value, show(self.names, reduce.value)]
        if reduce.axes != nesting.default_axes(reduce.buffer, reduce.indices):
            axes = ", ".join(self.names.value(var) for var in reduce.axes)
            parts.append(f"over=({axes}{',' if len(reduce.axes) == 1 else ''})")
        if not starts_from_identity(reduce):
            parts.append(f"init={show(self.names, reduce.init)}")
        if reduce.combiner is Combiner.SUM and len(parts) == 2 and target.endswith("]"):
            return f"{target} += {parts[1]}"
        return f"{target} = reduce({', '.join(parts)})"
