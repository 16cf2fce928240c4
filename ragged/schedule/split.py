"""split: one loop as two, an outer one over blocks of iterations and an inner one over those of a block."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Ref, Var, add
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten, Substitution
from ragged.ir.stmt import For, If, LoopKind, Reduce, Stmt, block
from ragged.schedule.copy import Copier
from ragged.schedule.locate import Replace, the_loop


class Tail(Enum):
    """What becomes of the iterations that do not fill a block.

    GUARD: the last block asks before each iteration. PEEL: a loop of their own after the others.
    """

    GUARD = "guard"
    PEEL = "peel"


def split(program: Program, loop: Var, factor: int, tail: Tail = Tail.GUARD) -> Rewritten:
    """Split a loop into blocks of `factor` iterations; the order of iterations stays.

    before::

        for i in serial(n):
            x[i] = 0.0

    after, with a guard::

        for i_o in serial((n + 7) // 8):
            for i_i in serial(8):
                if i_o * 8 + i_i < n:
                    x[i_o * 8 + i_i] = 0.0

    after, peeled::

        for i_o in serial(n // 8):
            for i_i in serial(8):
                x[i_o * 8 + i_i] = 0.0
        for i_t in serial(n % 8):
            x[n // 8 * 8 + i_t] = 0.0

    An extent that `factor` divides has no tail. The loop's forwarding is (outer, inner), and (outer, inner, tail)
    where a tail is peeled.

    Raises:
        ScheduleError: there is no such loop, the factor is less than 1, or the loop is vectorized or a team's.
    """
    old = the_loop(program, loop, "split")
    if factor < 1:
        raise ScheduleError(
            f"split: cannot split loop '{loop.name}' into blocks of {factor}", fix="a factor from 1 up"
        )
    if old.kind in (LoopKind.VECTORIZED, LoopKind.TEAM):
        raise ScheduleError(
            f"split: cannot split loop '{loop.name}', which is {old.kind.value}",
            because="its iterations are lanes or workers, whose number is said elsewhere",
            fix="split first",
        )

    def change(found: For, owner: Rewriter) -> Stmt:
        return _split(found, owner, factor, tail)

    return Replace(loop=loop, change=change).program(program)


def _split(old: For, owner: Rewriter, factor: int, tail: Tail) -> Stmt:
    outer, inner = owner.copied_loop(old.var, "o"), owner.copied_loop(old.var, "i")
    width = Const(factor)
    place = add(Binary(BinaryOp.MUL, Ref(outer), width), Ref(inner))
    body = _Axes(values={old.var: place}, split=old.var, parts=(outer, inner)).stmt(old.body)
    whole = isinstance(old.extent, Const) and old.extent.value % factor == 0
    if whole or tail is Tail.PEEL:
        blocks = _floordiv(old.extent, factor)
        main = replace(old, var=outer, extent=blocks, body=For(inner, width, body, old.kind, old.dim, old.at))
        return main if whole else block(main, _peeled(old, owner, factor))
    guarded = If(Binary(BinaryOp.LT, place, old.extent), body)
    blocks = _floordiv(_raised(old.extent, factor - 1), factor)
    return replace(old, var=outer, extent=blocks, body=For(inner, width, guarded, old.kind, old.dim, old.at))


def _peeled(old: For, owner: Rewriter, factor: int) -> Stmt:
    """Return the loop over the iterations after the last whole block."""
    rest = owner.copied_loop(old.var, "t")
    start = Binary(BinaryOp.MUL, _floordiv(old.extent, factor), Const(factor))
    copier = Copier(owner=owner, suffix="t", variables={old.var: add(start, Ref(rest))})
    body = _Axes(values={}, split=old.var, parts=(rest,)).stmt(copier.stmt(old.body))
    return replace(old, var=rest, extent=_remainder(old.extent, factor), body=body)


class _Axes(Substitution):
    """Puts the new loops where a reduction names the old one."""

    def __init__(self, values: dict[Var, Expr], split: Var, parts: tuple[Var, ...]) -> None:
        super().__init__(values=values)
        self.split = split
        self.parts = parts

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Reduce):
            axes = (new for old in stmt.axes for new in (self.parts if old is self.split else (old,)))
            stmt = replace(stmt, axes=tuple(axes))
        return super().stmt(stmt)


def _floordiv(extent: Expr, factor: int) -> Expr:
    if isinstance(extent, Const):
        return Const(int(extent.value) // factor)
    return Binary(BinaryOp.FLOORDIV, extent, Const(factor))


def _remainder(extent: Expr, factor: int) -> Expr:
    if isinstance(extent, Const):
        return Const(int(extent.value) % factor)
    return Binary(BinaryOp.MOD, extent, Const(factor))


def _raised(extent: Expr, by: int) -> Expr:
    return Const(int(extent.value) + by) if isinstance(extent, Const) else add(extent, by)
