"""prefetch: prefetch what a nest reads while the statements before it run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ragged.analysis.buffers import check_known
from ragged.analysis.dependence import storage
from ragged.arith.fold import FoldedSubstitution
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import (
    Alloc,
    Block,
    Check,
    For,
    If,
    Intrinsic,
    IntrinsicOp,
    Label,
    Let,
    LoopKind,
    Stmt,
    block,
)
from ragged.ir.walk import held, operands, statements, subexpressions, written
from ragged.transform.locate import loop_site

_SHARED = (LoopKind.TEAM, LoopKind.THREADS)


def prefetch(program: Program, loop: Var, buffer: Buffer) -> Rewritten:
    """Bring near what a nest reads of a buffer, before what stands before the nest in its block.

    before::

        for n_o in serial(count // 4):
            s = local(float32[4, 16])
            ...
            for n_i in serial(4):
                for i in vectorized(16):
                    y[n_o * 4 + n_i, i] = s[n_i, i] + x[begin(n_o * 4 + n_i) + i]

    after `prefetch(program, n_i, x)`::

        for n_o in serial(count // 4):
            s = local(float32[4, 16])
            for n_i_ahead in serial(4):
                prefetch(x[begin(n_o * 4 + n_i_ahead)])
            ...
            for n_i in serial(4):
                for i in vectorized(16):
                    y[n_o * 4 + n_i, i] = s[n_i, i] + x[begin(n_o * 4 + n_i) + i]

    The loops of the nest run ahead with nothing in them but prefetches; of a vectorized one the first iteration does,
    so a vector should be a line of the cache. Reads that a condition in an expression decides about are left out. No
    value changes.

    Raises:
        ScheduleError: there is no such loop or buffer; the buffer is local; nothing stands before the nest in its
            block; a check or a loop of workers stands in that block; the nest has no read of it that is certain to
            run; or where it reads depends on what the block writes.
    """
    what = f"prefetch: cannot bring near what loop '{loop.name}' reads of '{buffer.name}'"
    check_known(program, buffer, "prefetch")
    nest = loop_site(program, loop, "prefetch").stmt
    if buffer.role is Role.LOCAL:
        raise ScheduleError(what, because="it is local: it was just written", fix="name a declared buffer")
    home = _home(program, nest)
    if home is None or home.body[0] is nest:
        raise ScheduleError(
            what,
            because="nothing stands before the loop in its block: it would be read at once",
            fix="name a nest that comes after another one",
        )
    for stmt in statements(home):
        if isinstance(stmt, Check) or (isinstance(stmt, For) and stmt.kind in _SHARED):
            raise ScheduleError(
                what,
                because="a check, or a loop of workers, in its block says whether it is read",
                fix="add a fact that proves the check, or name a nest of a block without one",
            )
    copy = _Ahead(buffer).copy(nest, {})
    if copy is None:
        raise ScheduleError(
            what,
            because="no read of it in that loop is certain to run",
            fix="name a buffer that the nest reads",
        )
    changed = {storage(each) for each in written(home)}
    if any(isinstance(part, Load) and storage(part.buffer) in changed for part in _deciding(copy)):
        raise ScheduleError(
            what,
            because="where it reads depends on what is written in the block",
            fix="compute before the block where it reads",
        )
    rewriter = _InsertPrefetch(home=home, copy=copy)
    stages = tuple(replace(stage, body=rewriter.stmt(stage.body)) for stage in program.stages)
    return rewriter.finish(program, replace(program, stages=stages))


def _home(program: Program, nest: Stmt) -> Block | None:
    """Return the block that a statement stands in."""
    blocks = (s for stage in program.stages for s in statements(stage.body) if isinstance(s, Block))
    return next((found for found in blocks if any(each is nest for each in found.body)), None)


def _deciding(copy: Stmt) -> Iterator[Expr]:
    """Yield all that is evaluated in a nest of prefetches: not the elements themselves, but their indices."""
    for stmt in statements(copy):
        for expr in held(stmt):
            parts = operands(expr) if isinstance(stmt, Intrinsic) else (expr,)
            for part in parts:
                yield from subexpressions(part)


@dataclass(frozen=True, slots=True)
class _Ahead:
    """Makes nests of prefetches of what others read of a buffer."""

    buffer: Buffer

    def copy(self, stmt: Stmt, values: Mapping[Var, Expr]) -> Stmt | None:
        """Return a nest that prefetches what a statement reads, with `values` for variables; None for nothing."""
        match stmt:
            case For(kind=LoopKind.VECTORIZED, var=var, body=body):
                return self.copy(body, {**values, var: Const(0, var.dtype)})
            case For(var=var, extent=extent, body=body, dim=dim):
                own = Var(f"{var.name}_ahead", var.dtype)
                inner = self.copy(body, {**values, var: Ref(own)})
                return None if inner is None else For(own, _put(extent, values), inner, dim=dim)
            case Let(var=var, value=value, body=body):
                own = Var(var.name, var.dtype)
                inner = self.copy(body, {**values, var: Ref(own)})
                return None if inner is None else Let(own, _put(value, values), inner)
            case If(condition=condition, then=then, orelse=orelse):
                taken = self.copy(then, values)
                other = None if orelse is None else self.copy(orelse, values)
                if taken is None and other is None:
                    return None
                return If(_put(condition, values), taken or Block(), other)
            case Alloc(body=body):
                return self.copy(body, values)
            case Block(body=body):
                found = [inner for inner in (self.copy(each, values) for each in body) if inner is not None]
                return block(*found) if found else None
            case _:
                return self._fetches(stmt, values)

    def _fetches(self, stmt: Stmt, values: Mapping[Var, Expr]) -> Stmt | None:
        read = (load for expr in held(stmt) for load in _certain(expr) if load.buffer is self.buffer)
        places = dict.fromkeys(_put(load, values) for load in read)
        fetches = [Intrinsic(Label("prefetch"), IntrinsicOp.PREFETCH, (place,)) for place in places]
        return block(*fetches) if fetches else None


def _put(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    return FoldedSubstitution(values=values).expr(expr)


def _certain(expr: Expr) -> Iterator[Load]:
    """Yield the loads of an expression that are made whatever its conditions are."""
    if isinstance(expr, Load):
        yield expr
    parts = operands(expr)
    if isinstance(expr, Select) or (isinstance(expr, Binary) and expr.op in (BinaryOp.AND, BinaryOp.OR)):
        parts = parts[:1]
    for part in parts:
        yield from _certain(part)


@dataclass
class _InsertPrefetch(Rewriter):
    """Inserts a nest at the beginning of a block."""

    home: Block = field(kw_only=True)
    copy: Stmt = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        new = super().stmt(stmt)
        if stmt is not self.home:
            return new
        assert isinstance(new, Block)
        return block(self.copy, *new.body)
