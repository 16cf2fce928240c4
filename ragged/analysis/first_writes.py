"""Whether a nest writes all of a temporary, or of a slice of it, before anything reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from ragged.arith.fold import ONE, ZERO
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import For, If, Let, Reduce, Stmt, Store
from ragged.ir.walk import children, held, operands, statements, subexpressions, touches

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


def binders_of(body: Stmt) -> Mapping[Var, int]:
    """Return the variables that loops and lets bind, numbered in the order of the text, outer ones first."""
    bound = (stmt.var for stmt in statements(body) if isinstance(stmt, For | Let))
    return {var: number for number, var in enumerate(bound)}


def accesses(body: Stmt, buffer: Buffer) -> Iterator[Indices]:
    """Yield the indices at which `body` reads and writes a buffer, in the order of the text."""
    pending = [body]
    while pending:
        stmt = pending.pop()
        if touches(stmt, buffer):
            yield from direct(stmt, buffer)
            pending.extend(reversed(children(stmt)))


def direct(stmt: Stmt, buffer: Buffer) -> Iterator[Indices]:
    """Yield the indices at which a statement itself accesses a buffer: first where it writes."""
    if isinstance(stmt, Store | Reduce) and stmt.buffer is buffer:
        yield stmt.indices
    for expr in held(stmt):
        for inner in subexpressions(expr):
            if isinstance(inner, Load) and inner.buffer is buffer:
                yield inner.indices


def writes_first(scope: Stmt, buffer: Buffer, fixed: Set[int], slices: Slices) -> bool:
    """True if the first access in the text is a store in a nest that covers the slices before anything else is read.

    A nest covers them if the store's indices in all dimensions but the `fixed` ones go through whole slices, no
    condition stands over it, no other loop that may run never does, and all else in it is at the store's own place; or
    if each iteration of its outermost loop is at places of its own, which it covers before it reads any.
    """
    store, around = _first(scope, buffer, ()) or (scope, ())
    reads = sum(1 for _ in direct(store, buffer)) > 1
    if not isinstance(store, Store) or store.buffer is not buffer or reads:
        return False
    loops = [outer for outer in around if isinstance(outer, For)]
    extents = {loop.var: loop.extent for loop in loops}
    own: set[Var] = set()
    for d, index in enumerate(store.indices):
        if d in fixed:
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
    nest = next((loop for loop in loops if loop.var in own), None)
    inside = list(accesses(nest or store, buffer))
    if nest is None or all(indices == store.indices for indices in inside):
        return True
    apart = {d for d, index in enumerate(store.indices) if d not in fixed and index == Ref(nest.var)}
    at_own = all(indices[d] == store.indices[d] for indices in inside for d in apart)
    return bool(apart) and at_own and writes_first(nest.body, buffer, fixed | apart, slices)


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
    """Return whether an index is the variable of a loop to `extent`, or of two loops that go through it by blocks.

    Loops may end before it, and begin at another place than 0.
    """
    match index:
        case Ref(var=var):
            return var in loops and _is_at_most(loops[var], extent)
        case Binary(op=BinaryOp.ADD, lhs=Ref(var=var), rhs=first) if var in loops:  # from `first` to an end
            ends = (each for each in (loops[var], *_least(loops[var])) if isinstance(each, Binary))
            return any(
                end.op is BinaryOp.SUB and end.rhs == first and _is_at_most(end.lhs, extent) for end in ends
            )
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


def _is_at_most(value: Expr, extent: Expr) -> bool:
    """Return whether a value is an extent, or the least of it and others."""
    return value == extent or any(_is_at_most(each, extent) for each in _least(value))


def _least(value: Expr) -> tuple[Expr, ...]:
    """Return what a value is the least of."""
    return operands(value) if isinstance(value, Binary) and value.op is BinaryOp.MIN else ()


def _first(stmt: Stmt, buffer: Buffer, around: Sequence[Stmt]) -> tuple[Stmt, Sequence[Stmt]] | None:
    """Return the first statement in the text that accesses `buffer`, and what is around it; None if none does."""
    if not touches(stmt, buffer):
        return None
    if any(True for _ in direct(stmt, buffer)):
        return stmt, around
    for child in children(stmt):
        found = _first(child, buffer, (*around, stmt))
        if found is not None:
            return found
    return None


def _runs(loop: For) -> bool:
    """True if a loop is known to run at least once."""
    return isinstance(loop.extent, Const) and int(loop.extent.value) >= 1
