"""Rewriting: from a program to a program, with a map from the old statements and loops to the new ones.

A rewriting never changes what it is given. `Rewriter` rebuilds a tree bottom up and shares what stays the same;
a pass or a primitive overrides the methods of what it changes. Whoever copies a statement gives the copy a
label of its own with `copied`, so that labels stay unique and the map stays true.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

from ragged.ir.expr import Binary, Buffer, Call, Cast, Const, Expr, Fma, Load, Ref, Select, Unary, Var
from ragged.ir.program import Program
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Intrinsic,
    Label,
    Let,
    Reduce,
    Stmt,
    Store,
    block,
)
from ragged.ir.walk import statements


@dataclass(frozen=True, slots=True)
class Forwarding:
    """What became of a program's labelled statements and loops: each maps to those that stand for it now."""

    labels: Mapping[Label, tuple[Label, ...]]
    loops: Mapping[Var, tuple[Var, ...]]

    def then(self, later: Forwarding) -> Forwarding:
        """Return the map of this rewriting followed by `later`."""
        return Forwarding(
            {old: tuple(b for a in new for b in later.labels.get(a, ())) for old, new in self.labels.items()},
            {old: tuple(b for a in new for b in later.loops.get(a, ())) for old, new in self.loops.items()},
        )


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewriting's result; `notes` are what it found that is worth showing to people."""

    program: Program
    forwarding: Forwarding
    notes: tuple[str, ...] = ()


def labels_of(program: Program) -> list[Label]:
    """Return the labels of a program, stage by stage, in the order of the text."""
    return list(_identities(program)[0])


def loops_of(program: Program) -> list[Var]:
    """Return the loops of a program by their variables, stage by stage, in the order of the text."""
    return list(_identities(program)[1])


_Identities: TypeAlias = "tuple[tuple[Label, ...], tuple[Var, ...]]"
_RECENT: deque[tuple[Program, _Identities]] = deque(maxlen=4)
"""What was found last: each rewriting asks of the program that the one before it left."""


def _identities(program: Program) -> _Identities:
    """Return the labels and the loops of a program."""
    for known, found in tuple(_RECENT):
        if known is program:
            return found
    everything = [stmt for stage in program.stages for stmt in statements(stage.body)]
    labels = tuple(s.label for s in everything if isinstance(s, Store | Reduce | Check | Barrier | Intrinsic))
    found = labels, tuple(s.var for s in everything if isinstance(s, For))
    _RECENT.append((program, found))
    return found


@dataclass
class Rewriter:
    """Rebuilds expressions and statements; as it stands it changes nothing.

    Override `expr` or `stmt`, handle what is to change, and call the base for the rest: it rebuilds the children
    first through the overriding methods.
    """

    label_copies: dict[Label, list[Label]] = field(default_factory=dict)
    loop_copies: dict[Var, list[Var]] = field(default_factory=dict)

    def program(self, program: Program) -> Rewritten:
        """Rewrite every stage and return the program with its forwarding map."""
        return self.finish(
            program,
            replace(
                program, stages=tuple(replace(stage, body=self.stmt(stage.body)) for stage in program.stages)
            ),
        )

    def finish(self, old: Program, new: Program) -> Rewritten:
        """Return `new` with the map from `old`: what kept its identity, and the copies that were recorded."""
        labels, loops = set(labels_of(new)), set(loops_of(new))
        label_map = {
            a: tuple(b for b in (a, *self.label_copies.get(a, ())) if b in labels) for a in labels_of(old)
        }
        loop_map = {
            a: tuple(b for b in (a, *self.loop_copies.get(a, ())) if b in loops) for a in loops_of(old)
        }
        return Rewritten(new, Forwarding(label_map, loop_map))

    def copied(self, label: Label, suffix: str) -> Label:
        """Return a new label that stands for `label`, named with `suffix`."""
        copy = Label(f"{label.name}.{suffix}")
        self.label_copies.setdefault(label, []).append(copy)
        return copy

    def copied_loop(self, var: Var, suffix: str) -> Var:
        """Return a new loop variable that stands for `var`, named with `suffix`."""
        copy = Var(f"{var.name}_{suffix}", var.dtype)
        self.loop_copies.setdefault(var, []).append(copy)
        return copy

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression."""
        match expr:
            case Const() | Ref():
                return expr
            case Load(buffer=buffer, indices=indices, at=at):
                return Load(self.buffer(buffer), self.exprs(indices), at)
            case Call(function=function, args=args, at=at):
                return Call(function, self.exprs(args), at)
            case Unary(op=op, operand=operand, at=at):
                return Unary(op, self.expr(operand), at)
            case Binary(op=op, lhs=lhs, rhs=rhs, at=at):
                return Binary(op, self.expr(lhs), self.expr(rhs), at)
            case Fma(a=a, b=b, c=c, at=at):
                return Fma(self.expr(a), self.expr(b), self.expr(c), at)
            case Select(condition=condition, if_true=if_true, if_false=if_false, at=at):
                return Select(self.expr(condition), self.expr(if_true), self.expr(if_false), at)
            case Cast(dtype=dtype, operand=operand, at=at):
                return Cast(dtype, self.expr(operand), at)
            case _:
                assert_never(expr)

    def exprs(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Rewrite expressions one by one."""
        return tuple(self.expr(expr) for expr in exprs)

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return the buffer that stands for `buffer` now."""
        return buffer

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement and what stands in it."""
        match stmt:
            case Store(buffer=buffer, indices=indices, value=value):
                return replace(
                    stmt, buffer=self.buffer(buffer), indices=self.exprs(indices), value=self.expr(value)
                )
            case Reduce(buffer=buffer, indices=indices, value=value, init=init):
                return replace(
                    stmt,
                    buffer=self.buffer(buffer),
                    indices=self.exprs(indices),
                    value=self.expr(value),
                    init=self.expr(init),
                )
            case Check(condition=condition, witness=witness):
                return replace(stmt, condition=self.expr(condition), witness=self.exprs(witness))
            case Barrier():
                return stmt
            case Intrinsic(args=args):
                return replace(stmt, args=self.exprs(args))
            case For(extent=extent, body=body):
                return replace(stmt, extent=self.expr(extent), body=self.stmt(body))
            case Let(value=value, body=body):
                return replace(stmt, value=self.expr(value), body=self.stmt(body))
            case Alloc(buffer=buffer, body=body):
                return replace(stmt, buffer=self.buffer(buffer), body=self.stmt(body))
            case If(condition=condition, then=then, orelse=orelse):
                return replace(
                    stmt,
                    condition=self.expr(condition),
                    then=self.stmt(then),
                    orelse=None if orelse is None else self.stmt(orelse),
                )
            case Block(body=body):
                return block(*(self.stmt(inner) for inner in body))
            case _:
                assert_never(stmt)


@dataclass
class Substitution(Rewriter):
    """Puts expressions in place of variables."""

    values: Mapping[Var, Expr] = field(default_factory=dict)

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression: a variable becomes its value."""
        if isinstance(expr, Ref):
            return self.values.get(expr.var, expr)
        return super().expr(expr)


def substitute(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    """Return `expr` with the variables in `values` replaced."""
    return Substitution(values=values).expr(expr)
