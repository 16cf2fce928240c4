"""Where a temporary is at home: loops and lets, under each of which a nest writes it before anything reads it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragged.arith.fold import ONE, ZERO
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Alloc, Block, For, If, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import (
    children,
    held,
    reads_memory,
    statements,
    subexpressions,
    touches,
    variables,
    varies,
)

Indices = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """What a nest uses of a dimension: `extent` places from `base` on, or from the first where there is none."""

    base: Expr | None
    extent: Expr

    def place(self, index: Expr) -> Expr:
        """Return an index as a place in the slice."""
        if self.base is None:
            return index
        if index == self.base:
            return ZERO
        assert isinstance(index, Binary)
        return index.rhs


Slices = tuple[Slice, ...]
"""What a nest uses of each dimension of a buffer."""


def homes(body: Stmt, buffer: Buffer, dimension: int) -> dict[Var, Slices] | None:
    """Return the variables at which `buffer` is accessed in a dimension, with the slices of the others; or None.

    Under each of them all accesses are at it, or at one place that it says, and what is read has been written before,
    each time that it is bound. Nests of another home may stand under it, before anything at it.
    """
    found: dict[Var, Slices] = {}
    if not touches(body, buffer):
        return found
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
        if not _writes_first(scope, buffer, dimension, found[home]):
            return None
    return found


def binders_of(body: Stmt) -> Mapping[Var, int]:
    """Return the variables that loops and lets bind, numbered in the order of the text, outer ones first."""
    bound = (stmt.var for stmt in statements(body) if isinstance(stmt, For | Let))
    return {var: number for number, var in enumerate(bound)}


def home_of(index: Expr, binders: Mapping[Var, int]) -> Var | None:
    """Return the innermost variable of an index, which is the same wherever that stays; None if it reads a buffer.

    An index that is no single variable is of the loops around an operator: none of them is a vector's.
    """
    used = variables(index)
    return None if not used or reads_memory(index) else max(used, key=lambda var: binders[var])


def accesses(body: Stmt, buffer: Buffer) -> Iterator[Indices]:
    """Yield the indices at which `body` reads and writes a buffer, in the order of the text."""
    pending = [body]
    while pending:
        stmt = pending.pop()
        if touches(stmt, buffer):
            yield from _direct(stmt, buffer)
            pending.extend(reversed(children(stmt)))


def _direct(stmt: Stmt, buffer: Buffer) -> Iterator[Indices]:
    """Yield the indices at which a statement itself accesses a buffer: first where it writes."""
    if isinstance(stmt, Store | Reduce) and stmt.buffer is buffer:
        yield stmt.indices
    for expr in held(stmt):
        for inner in subexpressions(expr):
            if isinstance(inner, Load) and inner.buffer is buffer:
                yield inner.indices


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
        started |= any(each[dimension] == index for each in _direct(stmt, buffer))
    return cut.stmt(around)


def _narrowed(scope: Stmt, buffer: Buffer) -> Stmt:
    """Return the one statement or branch that all accesses are in: a condition over all of them hinders none."""
    within = [each for each in _parts(scope) if touches(each, buffer)]
    held_itself = any(True for _ in _direct(scope, buffer))
    return _narrowed(within[0], buffer) if len(within) == 1 and not held_itself else scope


def _parts(stmt: Stmt) -> tuple[Stmt, ...]:
    return children(stmt) if isinstance(stmt, Block | If | Alloc) else ()


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


def fills_first(scope: Stmt, buffer: Buffer) -> bool:
    """Return whether a statement writes all of a buffer before it reads any of it."""
    return _writes_first(scope, buffer, None, tuple(Slice(None, extent) for extent in buffer.shape))


def _writes_first(scope: Stmt, buffer: Buffer, dimension: int | None, slices: Slices) -> bool:
    """True if the first access in the text is a store in a nest that covers the slices before anything else is read.

    A nest covers them if the store's indices in all dimensions but `dimension` go through whole slices, no condition
    stands over it, no other loop that may run never does, and all else in it is at the store's own place.
    """
    store, around = _first(scope, buffer, ()) or (scope, ())
    reads = sum(1 for _ in _direct(store, buffer)) > 1
    if not isinstance(store, Store) or store.buffer is not buffer or reads:
        return False
    loops = [outer for outer in around if isinstance(outer, For)]
    extents = {loop.var: loop.extent for loop in loops}
    own: set[Var] = set()
    for d, index in enumerate(store.indices):
        if d == dimension:
            continue
        place, extent = slices[d].place(index), slices[d].extent
        covering = _covering(place, extent, extents)
        if covering is None and isinstance(place, Ref) and _as_far(scope, buffer, d, extents.get(place.var)):
            covering = {place.var}
        if covering is None or not own.isdisjoint(covering):
            return False
        own |= covering
    if any(isinstance(outer, If) for outer in around) or not all(e.var in own or _runs(e) for e in loops):
        return False
    nest = next((loop for loop in loops if loop.var in own), store)
    return all(indices == store.indices for indices in accesses(nest, buffer))


def _covering(index: Expr, extent: Expr, loops: Mapping[Var, Expr]) -> set[Var] | None:
    """Return the variables of the loops by which an index takes all values below an extent; None if it may not."""
    match index:
        case Const(value=0) if extent == ONE:
            return set()
        case Ref(var=var) if loops.get(var) == extent:
            return {var}
        case Binary(
            op=BinaryOp.ADD,
            lhs=Binary(op=BinaryOp.MUL, lhs=Ref(var=block), rhs=Const() as size),
            rhs=Ref(var=place),
        ) if loops.get(place) == size and isinstance(count := loops.get(block), Const):
            return {block, place} if extent == Const(int(count.value) * int(size.value)) else None
        case _:
            return None


def _as_far(scope: Stmt, buffer: Buffer, dimension: int, extent: Expr | None) -> bool:
    """True if all accesses in `scope` are below `extent`, one number there: at variables of loops that run to it.

    Or at places in blocks of a constant size, and at those of what they leave over.
    """
    if extent is None:
        return False
    loops = {stmt.var: stmt.extent for stmt in statements(scope) if isinstance(stmt, For)}
    bound = binders_of(scope)
    fixed = all(
        not isinstance(part, Load) and not (isinstance(part, Ref) and part.var in bound)
        for part in subexpressions(extent)
    )
    return fixed and all(_below(own[dimension], extent, loops) for own in accesses(scope, buffer))


def _below(index: Expr, extent: Expr, loops: Mapping[Var, Expr]) -> bool:
    """Return whether an index is the variable of a loop to `extent`, or of two loops that go through it by blocks."""
    match index:
        case Ref(var=var):
            return loops.get(var) == extent
        case Binary(
            op=BinaryOp.ADD,
            lhs=Binary(op=BinaryOp.MUL, lhs=Ref(var=block), rhs=Const() as size),
            rhs=Ref(var=place),
        ):  # block * size + place, of whole blocks
            return loops.get(block) == Binary(BinaryOp.FLOORDIV, extent, size) and loops.get(place) == size
        case Binary(
            op=BinaryOp.ADD,
            lhs=Binary(op=BinaryOp.MUL, lhs=blocks, rhs=Const() as size),
            rhs=Ref(var=place),
        ):  # what they leave over
            whole, rest = (Binary(op, extent, size) for op in (BinaryOp.FLOORDIV, BinaryOp.MOD))
            return blocks == whole and loops.get(place) == rest
        case _:
            return False


def _first(stmt: Stmt, buffer: Buffer, around: Sequence[Stmt]) -> tuple[Stmt, Sequence[Stmt]] | None:
    """Return the first statement in the text that accesses `buffer`, and what is around it; None if none does."""
    if not touches(stmt, buffer):
        return None
    if any(True for _ in _direct(stmt, buffer)):
        return stmt, around
    for child in children(stmt):
        found = _first(child, buffer, (*around, stmt))
        if found is not None:
            return found
    return None


def _runs(loop: For) -> bool:
    """True if a loop is known to run at least once."""
    return isinstance(loop.extent, Const) and int(loop.extent.value) >= 1
