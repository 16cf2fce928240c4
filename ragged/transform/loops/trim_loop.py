"""trim_loop: leave out the last iterations of a loop, which store what nothing reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ragged.analysis.accesses import accesses
from ragged.analysis.buffers import TEMPORARY, check_alone
from ragged.analysis.first_writes import Slice, writes_first
from ragged.arith.affine import divided, growth
from ragged.arith.fold import ZERO, times
from ragged.errors import ScheduleError
from ragged.ir.build import both
from ragged.ir.expr import Binary, Buffer, Const, Expr, Ref, Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.sites import Site
from ragged.ir.stmt import For, Let, Stmt, Store
from ragged.ir.walk import mentions, reads_memory, variables
from ragged.passes.assume import assume
from ragged.prove import Unproven, answer
from ragged.transform.index_checks import require_index
from ragged.transform.legality import require_no_lanes
from ragged.transform.locate import Replace, loop_site


def trim_loop(program: Program, loop: Var, extent: Expr) -> Rewritten:
    """Run a loop up to `extent` only: its other iterations store elements that nothing reads.

    before::

        for p in serial((n + 63) // 64):
            for v in serial(4):
                for i in serial(16):
                    t[p, v * 16 + i] = x[p * 64 + v * 16 + i] if p * 64 + v * 16 + i < n else 0.0
        for j in serial(n):
            y[j] = t[j // 64, j % 64]

    after `trim_loop(program, v, min((n + 15) // 16 - p * 4, 4))`::

        for p in serial((n + 63) // 64):
            for v in serial(min((n + 15) // 16 - p * 4, 4)):
                for i in serial(16):
                    t[p, v * 16 + i] = x[p * 64 + v * 16 + i] if p * 64 + v * 16 + i < n else 0.0
        for j in serial(n):
            y[j] = t[j // 64, j % 64]

    The loops inside go through a block of one dimension of a temporary. Each element that the program reads, whenever
    that is, is proven to be in a block below the extent. Facts by which that is proven are checked by the prelude.

    Raises:
        ScheduleError: there is no such loop; it is vectorized or a team's; it does more than one store to a temporary;
            its variable does not number blocks of one dimension; `extent` is not proven to be from 0 up to the loop's
            own, or depends on more than sizes, the store's indices, and what is bound around if the temporary is filled
            and read in each iteration; or an element that is read may be left out.
    """
    what = f"trim_loop: cannot trim loop '{loop.name}'"
    site = loop_site(program, loop, "trim_loop")
    old = site.stmt
    assert isinstance(old, For)
    require_no_lanes(old, what, "trim_loop first")
    store = _only_store(old, what)
    check_alone(program, store.buffer, "trim_loop")
    facts = require_index(program, site, extent, ZERO, what)
    facts |= _require(program, site, _within(extent, old.extent), what, "where the loop stands")
    dimension, size = _blocks(old, store, what)
    same = _refilled(program, site, store.buffer)
    for access in accesses(program, store.buffer):
        if access.writes and access.site.stmt is store:
            continue
        there = _there(extent, store, access.indices, same, what)
        goal = Binary(BinaryOp.LT, access.indices[dimension], times(there, Const(size)))
        subject = f"where '{store.buffer.name}' is read"
        facts |= _require(program, access.site, goal, what, subject, access.conditions)

    def change(found: For, owner: Rewriter) -> Stmt:
        return replace(found, extent=extent)

    result = Replace(loop=loop, change=change).program(program)
    return replace(result, program=assume(result.program, facts))


def _only_store(loop: For, what: str) -> Store:
    """Return the store to a temporary that a loop's nest consists of."""
    stmt: Stmt = loop.body
    while isinstance(stmt, For):
        stmt = stmt.body
    if isinstance(stmt, Store) and stmt.buffer.role in TEMPORARY:
        return stmt
    raise ScheduleError(
        what, because="it does something else than to store to one temporary", fix="fission first"
    )


def _blocks(loop: For, store: Store, what: str) -> tuple[int, int]:
    """Return the dimension with the blocks that a loop numbers, and how many elements each has."""
    extents: dict[Var, int] = {}
    stmt: Stmt = loop.body
    while isinstance(stmt, For):
        if isinstance(stmt.extent, Const):
            extents[stmt.var] = int(stmt.extent.value)
        stmt = stmt.body
    places = [d for d, index in enumerate(store.indices) if mentions(index, (loop.var,))]
    if len(places) == 1:
        index = store.indices[places[0]]
        size = growth(index, loop.var)
        if size is not None and size > 0 and divided(index, size, extents)[0] == Ref(loop.var):
            return places[0], size
    raise ScheduleError(what, because=f"its iterations are no blocks of a dimension of '{store.buffer.name}'")


def _refilled(program: Program, site: Site, buffer: Buffer) -> frozenset[Var]:
    """Return the variables bound around all accesses of a buffer, one of them in the loop at a site.

    None if an iteration of the innermost reads of the buffer, or of a worker's part of it, what it has not written.
    """
    found = list(accesses(program, buffer))
    around = [{id(outer) for outer in each.site.around} for each in found]
    shared = [
        outer
        for outer in site.around
        if isinstance(outer, For | Let) and all(id(outer) in each for each in around)
    ]
    same = frozenset(each.var for each in shared)
    indices = [{each.indices[d] for each in found} for d in range(len(buffer.shape))]
    fixed = {
        d
        for d, own in enumerate(indices)
        if len(own) == 1 and all(same.issuperset(variables(each)) for each in own)
    }
    slices = tuple(Slice(None, extent) for extent in buffer.shape)
    return same if shared and writes_first(shared[-1].body, buffer, fixed, slices) else frozenset()


def _there(extent: Expr, store: Store, indices: tuple[Expr, ...], same: Collection[Var], what: str) -> Expr:
    """Return the extent that a loop has for a store at the indices of another access; `same` variables are as there."""
    own: dict[Var, Expr] = {var: Ref(var) for var in same}
    own |= {
        index.var: there
        for index, there in zip(store.indices, indices, strict=True)
        if isinstance(index, Ref)
    }
    if reads_memory(extent) or not set(variables(extent)) <= set(own):
        raise ScheduleError(
            what,
            because=f"{expr_text(extent)} depends on more than sizes and indices of '{store.buffer.name}'",
        )
    return substitute(extent, own)


def _within(extent: Expr, old: Expr) -> Expr:
    return both(Binary(BinaryOp.LE, ZERO, extent), Binary(BinaryOp.LE, extent, old))


def _require(
    program: Program, site: Site, goal: Expr, what: str, subject: str, conditions: tuple[Expr, ...] = ()
) -> frozenset[Fact]:
    """Return the facts by which `goal` holds where `site` stands."""
    found = answer(program, site, goal, conditions=conditions)
    if isinstance(found, Unproven):
        raise ScheduleError(what, because=f"{expr_text(goal)} is not proven {subject}", example=found.example)
    return found.facts
