"""Whether a value that was stored is still what its expression is, at another place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragged.analysis.accesses import BufferAccess, common_depth, top
from ragged.analysis.dependence import Copies, Relation, find_conflict
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Const, Expr, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import CONCURRENT, Barrier, Block, For, Let, Reduce, Store


@dataclass(frozen=True, slots=True)
class Change:
    """Why a value may have changed, with an example where there is one."""

    because: str
    example: str | None = None


def find_change(program: Program, store: BufferAccess, read: BufferAccess, value: Expr) -> Change | None:
    """Return what may make `value`, evaluated where `read` is, other than what `store` stored; None if nothing does.

    `value` is in what is in scope at the read. The two are in the same iteration of the loops around both.
    """
    depth = common_depth(store.site, read.site)
    evaluated = replace(read.site, stmt=Let(Var("value", value.dtype), value, Block()))
    common = sum(isinstance(outer, For) for outer in read.site.around[:depth])
    for order, site in _between(program, store, read, depth):
        if isinstance(site.stmt, Barrier):
            return Change("workers meet at a barrier between the store and the read")
        relation = _before(read, order, site, depth)
        if relation is not None and isinstance(site.stmt, Store | Reduce):
            found = find_conflict(program, [evaluated], [site], common, relation)
            if found is not None and found.buffer is not None:
                return Change(f"'{found.buffer.name}' may have changed since the store", found.example)
    return None


def _between(
    program: Program, store: BufferAccess, read: BufferAccess, depth: int
) -> Iterator[tuple[int, Site]]:
    """Yield the statements that may run between the store and the read, and their places in the text."""
    first, last = top(store.site, depth), top(read.site, depth)
    begun = ended = False
    for order, site in enumerate(sites(program)):
        if site.stage.kind is read.site.stage.kind and common_depth(site, read.site) >= depth:
            here = top(site, depth) if len(site.around) >= depth else None
            begun = begun or here is first
            ended = ended or (begun and here is last)
            if begun and not (ended and here is not last):
                yield order, site


def _before(read: BufferAccess, order: int, site: Site, depth: int) -> Relation | None:
    """Return what holds if the statement at `site` runs before `read`; None if it never does."""
    shared = [o for o in read.site.around[depth : common_depth(read.site, site)] if isinstance(o, For)]
    if top(site, depth) is not top(read.site, depth):
        return lambda first, second: ()
    textually = order < read.order
    if not shared:
        return (lambda first, second: ()) if textually else None
    return lambda first, second: (_earlier(shared, second, first, textually),)


def _earlier(loops: Sequence[For], one: Copies, other: Copies, or_same: bool) -> Expr:
    """Return that the one iteration runs before the other, or may: those that run at once come in any order."""
    result: Expr = Const(or_same, DType.BOOL)
    for loop in reversed(loops):
        a, b = one[loop.var], other[loop.var]
        if loop.kind in CONCURRENT:
            now: Expr = Binary(BinaryOp.NE, a, b)
        else:
            now = Binary(BinaryOp.LT, a, b)
        same_here = Binary(BinaryOp.AND, Binary(BinaryOp.EQ, a, b), result)
        result = Binary(BinaryOp.OR, now, same_here)
    return result
