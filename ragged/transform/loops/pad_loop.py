"""pad_loop: run a loop up to a multiple, over elements that are not read afterwards."""

from __future__ import annotations

from dataclasses import replace

from ragged.analysis.accesses import sites_writing
from ragged.analysis.dependence import never_meet, storage
from ragged.arith.fold import ZERO, floordiv, modulo, plus, times
from ragged.errors import ScheduleError
from ragged.ir.build import both
from ragged.ir.expr import Binary, Buffer, Const, Expr, Ref, Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import ElementAccess, Enclosing, Site, regions
from ragged.ir.stmt import Alloc, Check, For, Let, Reduce, Stmt, Store
from ragged.ir.walk import leaves, variables, written
from ragged.passes.assume import assume
from ragged.prove import Proof, answer
from ragged.transform.legality import require_fixed, require_no_lanes
from ragged.transform.locate import Replace, loop_site
from ragged.transform.loops.overrun import PadExtent, surroundings


def pad_loop(program: Program, loop: Var, multiple: int) -> Rewritten:
    """Run a loop up to a multiple of `multiple`: more iterations, so that tiles of it have no tail.

    before, where `y` is stored to a multiple of 8::

        for f in parallel(total):
            b = row(f)
            y[f] = tanh(x[f] + z[b])

    after `pad_loop(program, f, 8)`::

        for f in parallel((total + 7) // 8 * 8):
            b = row(min(f, total - 1))
            y[f] = tanh((x[f] if f < total else 0.0) + z[b])

    This is bulk padding (CoRa, section 4.1), of loops over all rows at once where `fuse_ragged` made them. What is read
    is zero beyond the end of what the caller gave, and of what is written before; functions go on with the last
    iteration's value where they have no other. The elements that the new iterations write are written by nothing else,
    so that no result depends on them. The facts by which this is proven are checked by the prelude. The loop keeps its
    name. An extent that is proven to be from 1 up to `multiple` becomes the number `multiple`.

    Raises:
        ScheduleError: there is no such loop, or the multiple is less than 1; the loop is vectorized, a team's, or a
            reduction's; a check stands in it; what the new iterations write or read is not proven to be inside of what
            is stored, or may be written elsewhere.
    """
    what = f"pad_loop: cannot pad loop '{loop.name}' to a multiple of {multiple}"
    if multiple < 1:
        raise ScheduleError(what, fix="a multiple from 1 up")
    site = loop_site(program, loop, "pad_loop")
    old = site.stmt
    assert isinstance(old, For)
    _require_paddable(old, what)
    require_fixed(old, (old.extent,), what)
    if modulo(old.extent, multiple) == ZERO:
        return Rewriter().program(program)
    extent, facts = _padded_extent(program, site, old.extent, multiple)
    beyond = PadExtent(asked=program, context=surroundings(site), loop=old, what=what)
    padded = beyond.loop_up_to(extent)

    def change(found: For, owner: Rewriter) -> Stmt:
        return padded

    result = Replace(loop=loop, change=change).program(program)
    new = assume(result.program, beyond.assumed | facts)
    _require_unseen(new, loop, old, what)
    return replace(result, program=new)


def _padded_extent(program: Program, site: Site, extent: Expr, multiple: int) -> tuple[Expr, frozenset[Fact]]:
    """Return the multiple that is not below an extent, and the facts by which it is a number."""
    inside = both(Binary(BinaryOp.LT, ZERO, extent), Binary(BinaryOp.LE, extent, Const(multiple)))
    found = answer(program, site, inside)
    if isinstance(found, Proof):
        return Const(multiple), found.facts
    return times(floordiv(plus(extent, Const(multiple - 1)), multiple), Const(multiple)), frozenset()


def _require_paddable(loop: For, what: str) -> None:
    require_no_lanes(loop, what, "pad first")
    for leaf in leaves(loop):
        if isinstance(leaf, Reduce) and loop.var in leaf.axes:
            raise ScheduleError(
                what,
                because=f"'{leaf.label.name}' reduces over it: more of it would be another value",
                fix="split it with a peeled tail",
            )
        if isinstance(leaf, Check):
            raise ScheduleError(
                what,
                because=f"the check '{leaf.label.name}' stands in it, which would fail beyond its end",
                fix="discharge_checks, if facts prove it",
            )


def _require_unseen(program: Program, loop: Var, old: For, what: str) -> None:
    """Return if what the new iterations write is written by no other ones, and by no other statement."""
    changed = loop_site(program, loop, "pad_loop").stmt
    mine = set(map(id, leaves(changed)))
    later = Binary(BinaryOp.LE, old.extent, Ref(loop))
    memory = set(map(storage, written(changed)))
    names = {
        buffer for stage in program.stages for buffer in written(stage.body) if storage(buffer) in memory
    }
    writes = [(site, access) for site in sites_writing(program, names) for access in regions(site).writes]
    own = [(site, write) for site, write in writes if id(site.stmt) in mine]
    for site, write in own:
        around = _around_allocation(storage(write.buffer), site)
        depth = sum(isinstance(outer, For) for outer in around)
        if any(outer.var is loop for outer in site.loops[:depth]):
            continue  # each iteration has one of its own
        common = {outer.var for outer in around if isinstance(outer, For | Let)}
        dead = replace(write, conditions=(*write.conditions, site.expand(later)))
        for other, access in writes:
            if storage(access.buffer) is not storage(write.buffer):
                continue
            if id(other.stmt) in mine:
                alike = common | _indices_alike(write, access)
                if loop in alike and variables(old.extent) <= alike:
                    continue  # one place is of one iteration, and that has one end
                real = other.expand(Binary(BinaryOp.LT, Ref(loop), old.extent))
                access = replace(access, conditions=(*access.conditions, real))
            if not never_meet(program, (site, dead), (other, access), depth):
                assert isinstance(other.stmt, Store | Reduce)
                name = other.stmt.label.name
                raise ScheduleError(
                    what,
                    because=f"beyond its end '{write.buffer.name}' may be written where '{name}' writes it",
                )


def _indices_alike(one: ElementAccess, other: ElementAccess) -> set[Var]:
    """Return the variables that have one value wherever two accesses are of one element: each is an index of both."""
    if one.buffer is not other.buffer:
        return set()
    pairs = zip(one.indices, other.indices, strict=True)
    return {here.var for here, there in pairs if isinstance(here, Ref) and here == there}


def _around_allocation(buffer: Buffer, site: Site) -> tuple[Enclosing, ...]:
    """Return what is around the allocation of a buffer: other iterations of the loops there have another one."""
    allocated = next((n for n, o in enumerate(site.around) if isinstance(o, Alloc) and o.buffer is buffer), 0)
    return site.around[:allocated]
