"""Where a temporary is at home: loops and lets, under each of which a nest writes it before anything reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ragged.analysis.first_writes import Slice, Slices, accesses, binders_of, direct, writes_first
from ragged.arith.fold import ONE
from ragged.ir.expr import Binary, Buffer, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Alloc, Block, For, If, Let, LoopKind, Stmt
from ragged.ir.walk import children, reads_memory, statements, touches, variables, varies


def homes(body: Stmt, buffer: Buffer, dimension: int) -> dict[Var, Slices] | None:
    """Return the variables at which `buffer` is accessed in a dimension, with the slices of the others; or None.

    Under each of them all accesses are at it, or at one place that it says, and what is read has been written before,
    each time that it is bound. Nests of another home may stand under it, before anything at it.
    """
    found: dict[Var, Slices] = {}
    if not touches(body, buffer):
        return found
    body = _KeepTouching(only=buffer).stmt(body)
    binders = binders_of(body)
    for indices in accesses(body, buffer):
        index = indices[dimension]
        home = home_of(index, binders)
        if home is None:
            return None
        if home in found:
            continue
        around = _scope(body, home)
        own = None if around is None else _own(around, buffer, dimension, index, binders)
        if own is None:
            return None
        scope = _narrowed(own, buffer)
        found[home] = _slices(scope, buffer)
        if not writes_first(scope, buffer, {dimension}, found[home]):
            return None
    return found


def home_of(index: Expr, binders: Mapping[Var, int]) -> Var | None:
    """Return the innermost variable of an index, which is the same wherever that stays; None if it reads a buffer.

    An index that is no single variable is of the loops around an operator: none of them is a vector's.
    """
    used = variables(index)
    return None if not used or reads_memory(index) else max(used, key=lambda var: binders[var])


def _scope(body: Stmt, var: Var) -> Stmt | None:
    """Return what stands under the loop or let that binds `var`; None in a vector, which has no room for storage."""
    for stmt in statements(body):
        if isinstance(stmt, For) and stmt.kind is LoopKind.VECTORIZED:
            if any(isinstance(inner, For | Let) and inner.var is var for inner in statements(stmt)):
                return None
        elif isinstance(stmt, For | Let) and stmt.var is var:
            return stmt.body
    return None


def _own(
    around: Stmt, buffer: Buffer, dimension: int, index: Expr, binders: Mapping[Var, int]
) -> Stmt | None:
    """Return what stands under a home, without the nests of other homes; None if these do not all come first.

    What they write is at other places, or at this one, where it is written again before it is read.
    """
    uses = (each[dimension] for each in accesses(around, buffer))
    others = {home_of(each, binders) for each in uses if each != index}
    if not others:
        return around
    inside = set(binders_of(around))
    if any(other is None or other not in inside for other in others):
        return None
    cut = _RemoveScopes(homes=frozenset(other for other in others if other is not None))
    started = False
    for stmt in statements(around):
        if isinstance(stmt, For | Let) and stmt.var in cut.homes:
            started |= any(each[dimension] == index for each in accesses(stmt, buffer))
            if started:
                return None
        started |= any(each[dimension] == index for each in direct(stmt, buffer))
    return cut.stmt(around)


def _narrowed(scope: Stmt, buffer: Buffer) -> Stmt:
    """Return the one statement or branch that all accesses are in: a condition over all of them hinders none."""
    within = [each for each in _parts(scope) if touches(each, buffer)]
    held_itself = any(True for _ in direct(scope, buffer))
    return _narrowed(within[0], buffer) if len(within) == 1 and not held_itself else scope


def _parts(stmt: Stmt) -> tuple[Stmt, ...]:
    return children(stmt) if isinstance(stmt, Block | If | Alloc) else ()


@dataclass
class _KeepTouching(Rewriter):
    """Takes out what does not touch a buffer: it says nothing of where that is written and read."""

    only: Buffer = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        return super().stmt(stmt) if touches(stmt, self.only) else Block()


@dataclass
class _RemoveScopes(Rewriter):
    """Takes out the loops and lets that bind other homes."""

    homes: frozenset[Var] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For | Let) and stmt.var in self.homes:
            return Block()
        return super().stmt(stmt)


def _slices(scope: Stmt, buffer: Buffer) -> Slices:
    """Return the slice of each dimension that all accesses in `scope` are in."""
    loops = {stmt.var: stmt.extent for stmt in statements(scope) if isinstance(stmt, For)}
    varying = set(loops)
    for stmt in statements(scope):
        if isinstance(stmt, Let) and varies(stmt.value, varying):
            varying.add(stmt.var)
    found: list[Slice] = []
    for dimension, extent in enumerate(buffer.shape):
        seen = {_slice(indices[dimension], loops, varying) for indices in accesses(scope, buffer)}
        one = seen.pop() if len(seen) == 1 else None
        found.append(one if one is not None else Slice(None, extent))
    return tuple(found)


def _slice(index: Expr, loops: Mapping[Var, Expr], varying: Collection[Var]) -> Slice | None:
    """Return the slice that an index runs through: one place, or `base + variable`, of what stays in the scope."""
    if isinstance(index, Ref) and not varies(index, varying):
        return Slice(index, ONE)
    match index:
        case Binary(op=BinaryOp.ADD, lhs=base, rhs=Ref(var=var)) if isinstance(loops.get(var), Const):
            return None if varies(base, varying) else Slice(base, loops[var])
        case _:
            return None
