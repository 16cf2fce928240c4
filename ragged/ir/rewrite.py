"""Rewriting: from a program to a program, with a map from the old statements and loops to the new ones.

A rewriting never changes what it is given. `Rewriter` rebuilds a tree bottom up and shares what stays the same;
a pass or a primitive overrides the methods of what it changes. Whoever copies a statement gives the copy a
label of its own with `copied`, so that labels stay unique and the map stays true.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import chain, repeat
from operator import is_
from typing import ClassVar, TypeAlias, TypeVar, assert_never

from ragged.ir.expr import Binary, Buffer, Call, Cast, Const, Expr, Fma, Load, Ref, Select, Unary, Var
from ragged.ir.index import index_of
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Label,
    Let,
    Prefetch,
    Reduce,
    Stmt,
    Store,
    block,
)
from ragged.ir.walk import variables

_Name = TypeVar("_Name", Label, Var)
_Map: TypeAlias = Mapping[_Name, tuple[_Name, ...]]


class Forwarding:
    """What became of a program's labelled statements and loops: each maps to those that stand for it now.

    The maps are made when they are first asked for: those of most steps of a schedule never are.
    """

    def __init__(self, labels: Callable[[], _Map[Label]], loops: Callable[[], _Map[Var]]) -> None:
        """Take what makes the maps."""
        self._labels = labels
        self._loops = loops

    @cached_property
    def labels(self) -> _Map[Label]:
        """The labels that stand for each label."""
        return self._labels()

    @cached_property
    def loops(self) -> _Map[Var]:
        """The loops that stand for each loop."""
        return self._loops()

    def then(self, *later: Forwarding) -> Forwarding:
        """Return the map of this rewriting followed by `later` ones, in order."""
        return Forwarding(
            lambda: reduce(_followed, (each.labels for each in later), self.labels),
            lambda: reduce(_followed, (each.loops for each in later), self.loops),
        )


def _followed(first: _Map[_Name], later: _Map[_Name]) -> _Map[_Name]:
    """Return what stands for each name of `first` later: most stand for themselves all the time."""
    get = later.get
    return {
        old: get(new[0], ()) if len(new) == 1 else tuple(chain.from_iterable(map(get, new, repeat(()))))
        for old, new in first.items()
    }


def _kept(
    old: Sequence[_Name], new: Sequence[_Name], copies: Mapping[_Name, Sequence[_Name]]
) -> dict[_Name, tuple[_Name, ...]]:
    """Return what stands for each of `old`: itself and its copies, as far as they are among `new`."""
    there = set(new)
    kept: dict[_Name, tuple[_Name, ...]] = dict(zip(old, zip(old), strict=True))
    for a in kept.keys() - there:
        kept[a] = ()
    for a, made in copies.items():
        if a in kept:
            kept[a] += tuple(b for b in made if b in there)
    return kept


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A rewriting's result; `notes` are what it found that is worth showing to people."""

    program: Program
    forwarding: Forwarding
    notes: tuple[str, ...] = ()


def labels_of(program: Program) -> list[Label]:
    """Return the labels of a program, stage by stage, in the order of the text."""
    return list(index_of(program).labels)


def loops_of(program: Program) -> list[Var]:
    """Return the loops of a program by their variables, stage by stage, in the order of the text."""
    return list(index_of(program).loops)


def _same(new: tuple[object, ...], old: tuple[object, ...]) -> bool:
    return all(map(is_, new, old))


@dataclass
class Rewriter:
    """Rebuilds expressions and statements; as it stands it changes nothing.

    Override `expr`, `stmt` or `access`, handle what is to change, and call the base for the rest: it rebuilds the
    children first through the overriding methods.
    """

    label_copies: dict[Label, list[Label]] = field(default_factory=dict)
    loop_copies: dict[Var, list[Var]] = field(default_factory=dict)
    _changes_exprs: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Note whether a kind of rewriter changes expressions at all: most of a walk through a program is these."""
        super().__init_subclass__()
        own = (cls.expr, cls.exprs, cls.access, cls.buffer)
        cls._changes_exprs = own != (Rewriter.expr, Rewriter.exprs, Rewriter.access, Rewriter.buffer)

    def program(
        self,
        program: Program,
        *,
        kinds: Container[StageKind] = tuple(StageKind),
        buffers: tuple[Buffer, ...] | None = None,
    ) -> Rewritten:
        """Rewrite the stages of these kinds and return the program, with other buffers if given, and its map."""
        stages = tuple(
            replace(stage, body=self.stmt(stage.body)) if stage.kind in kinds else stage
            for stage in program.stages
        )
        declared = program.buffers if buffers is None else buffers
        return self.finish(program, replace(program, buffers=declared, stages=stages))

    def finish(self, old: Program, new: Program) -> Rewritten:
        """Return `new` with the map from `old`: what kept its identity, and the copies that were recorded."""
        before, after = index_of(old), index_of(new)
        labels = {label: tuple(copies) for label, copies in self.label_copies.items()}
        loops = {var: tuple(copies) for var, copies in self.loop_copies.items()}
        forwarding = Forwarding(
            lambda: _kept(before.labels, after.labels, labels),
            lambda: _kept(before.loops, after.loops, loops),
        )
        return Rewritten(new, forwarding)

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
        """Rewrite an expression; one in which nothing changes stays the same."""
        if not self._changes_exprs:
            return expr
        match expr:
            case Const() | Ref():
                return expr
            case Binary(op=op, lhs=lhs, rhs=rhs, at=at):
                left, right = self.expr(lhs), self.expr(rhs)
                return expr if left is lhs and right is rhs else Binary(op, left, right, at)
            case Load(buffer=buffer, indices=indices, at=at):
                own, places = self.access(buffer, indices)
                return expr if own is buffer and places is indices else Load(own, places, at)
            case Call(function=function, args=args, at=at):
                new = self.exprs(args)
                return expr if new is args else Call(function, new, at)
            case Unary(op=op, operand=operand, at=at):
                inner = self.expr(operand)
                return expr if inner is operand else Unary(op, inner, at)
            case Fma(a=a, b=b, c=c, at=at):
                x, y, z = parts = self.exprs((a, b, c))
                return expr if _same(parts, (a, b, c)) else Fma(x, y, z, at)
            case Select(condition=condition, if_true=if_true, if_false=if_false, at=at):
                test, yes, no = parts = self.exprs((condition, if_true, if_false))
                return expr if _same(parts, (condition, if_true, if_false)) else Select(test, yes, no, at)
            case Cast(dtype=dtype, operand=operand, at=at):
                inner = self.expr(operand)
                return expr if inner is operand else Cast(dtype, inner, at)
            case _:
                assert_never(expr)

    def exprs(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Rewrite expressions one by one; the tuple stays the same if they all do."""
        new = tuple(map(self.expr, exprs))
        return exprs if _same(new, exprs) else new

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return the buffer that stands for `buffer` now."""
        return buffer

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Return what is read or written in place of an element of a buffer."""
        return self.buffer(buffer), self.exprs(indices)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement and what stands in it; one in which nothing changes stays the same."""
        match stmt:
            case Store(buffer=buffer, indices=indices, value=value):
                (target, places), new = self.access(buffer, indices), self.expr(value)
                if target is buffer and places is indices and new is value:
                    return stmt
                return replace(stmt, buffer=target, indices=places, value=new)
            case Reduce(buffer=buffer, indices=indices, value=value, init=init):
                target, places = self.access(buffer, indices)
                new, start = self.expr(value), self.expr(init)
                if target is buffer and places is indices and new is value and start is init:
                    return stmt
                return replace(stmt, buffer=target, indices=places, value=new, init=start)
            case Check(condition=condition, witness=witness):
                holds, shown = self.expr(condition), self.exprs(witness)
                if holds is condition and shown is witness:
                    return stmt
                return replace(stmt, condition=holds, witness=shown)
            case Barrier():
                return stmt
            case Prefetch(value=value):
                new = self.expr(value)
                if new is value:
                    return stmt
                return replace(stmt, value=new) if isinstance(new, Load) else Block()
            case For(extent=extent, body=body):
                count, inner = self.expr(extent), self.stmt(body)
                same = count is extent and inner is body
                return stmt if same else replace(stmt, extent=count, body=inner)
            case Let(value=value, body=body):
                new, inner = self.expr(value), self.stmt(body)
                same = new is value and inner is body
                return stmt if same else replace(stmt, value=new, body=inner)
            case Alloc(buffer=buffer, body=body):
                target, inner = self.buffer(buffer), self.stmt(body)
                same = target is buffer and inner is body
                return stmt if same else replace(stmt, buffer=target, body=inner)
            case If():
                return self._branches(stmt)
            case Block(body=body):
                parts = tuple(map(self.stmt, body))
                return stmt if _same(parts, body) else block(*parts)
            case _:
                assert_never(stmt)

    def _branches(self, stmt: If) -> Stmt:
        condition, then = self.expr(stmt.condition), self.stmt(stmt.then)
        orelse = None if stmt.orelse is None else self.stmt(stmt.orelse)
        if condition is stmt.condition and then is stmt.then and orelse is stmt.orelse:
            return stmt
        return replace(stmt, condition=condition, then=then, orelse=orelse)


@dataclass
class Substitution(Rewriter):
    """Puts expressions in place of variables."""

    values: Mapping[Var, Expr] = field(default_factory=dict)

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression: a variable becomes its value."""
        if isinstance(expr, Ref):
            return self.values.get(expr.var, expr)
        return super().expr(expr)


class _OfVariables(Substitution):
    """A substitution that changes nothing else, and leaves what has none of the variables."""

    def expr(self, expr: Expr) -> Expr:
        return expr if variables(expr).isdisjoint(self.values) else super().expr(expr)


def substitute(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    """Return `expr` with the variables in `values` replaced."""
    return _OfVariables(values=values).expr(expr) if values else expr


def substitute_lets(expr: Expr, lets: Sequence[Let]) -> Expr:
    """Return `expr` with what lets bind in place of their variables; the lets stand in each other, outermost first."""
    for let in reversed(lets):
        expr = substitute(expr, {let.var: let.value})
    return expr
