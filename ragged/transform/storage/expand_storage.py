"""expand_storage: give a local buffer one element for each iteration of a loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragged.analysis.buffers import allocation, check_alone
from ragged.arith.index_intervals import at_most
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Expr, Ref, Var
from ragged.ir.index import contents
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site, sites_in
from ragged.ir.stmt import Alloc, For, Let, LoopKind, Reduce, Stmt
from ragged.ir.walk import loads, statements, touches, varies
from ragged.transform.locate import loop_site, the_loop

_SHARED = (LoopKind.SERIAL, LoopKind.UNROLLED)


def expand_storage(program: Program, buffer: Buffer, loop: Var) -> Rewritten:
    """Give a buffer that is allocated in `loop` one dimension more, the loop's, and allocate it outside the loop.

    before::

        for n in serial(4):
            t = local(float32[16])
            for i in serial(16):
                t[i] = x[n, i]
            for i in serial(16):
                y[n, i] = t[i] + t[0]

    after::

        t = local(float32[4, 16])
        for n in serial(4):
            for i in serial(16):
                t[n, i] = x[n, i]
            for i in serial(16):
                y[n, i] = t[n, i] + t[n, 0]

    Then no iteration touches what another one does, and the loop can be fissioned. The new dimension comes first.
    Loops between `loop` and the allocation share the storage, one iteration after another.

    Raises:
        ScheduleError: the buffer is not local, shares its memory or is not allocated in the loop; the loop's extent is
            neither a number nor `min` of something and one; the buffer's shape depends on the loop; a loop between runs
            its iterations at once; or the buffer says where a reduction over the loop adds up.
    """
    old = the_loop(program, loop, "expand_storage")
    site = allocation(program, buffer, "expand_storage")
    check_alone(program, buffer, "expand_storage")
    _check_inside(buffer, old, site)
    _check_shape(buffer, old)
    _check_places(program, buffer, loop)
    most = at_most(old.extent, {})
    assert most is not None, "_check_inside asked"
    bigger = buffer.stacked(Const(most), old.dim)
    return _ExpandStorage(old=buffer, new=bigger, loop=loop).program(program)


def _check_inside(buffer: Buffer, loop: For, site: Site) -> None:
    name = f"expand_storage: cannot expand '{buffer.name}' by loop '{loop.var.name}'"
    around = [outer.var for outer in site.loops]
    if loop.var not in around:
        raise ScheduleError(
            name,
            because="it is not allocated in that loop: its iterations share the buffer already",
            fix="name a loop around the allocation",
        )
    if at_most(loop.extent, {}) is None:
        raise ScheduleError(
            name,
            because="the loop's extent is no number, and a local buffer's size has to be known",
            fix="split the loop by a number, and name the inner loop",
        )
    for between in site.loops[around.index(loop.var) + 1 :]:
        if between.kind not in _SHARED:
            raise ScheduleError(
                name,
                because=f"iterations of the {between.kind.value} loop '{between.var.name}' between them run at once, "
                "and would share the buffer",
                fix=f"expand it by '{between.var.name}' first",
            )


def _check_shape(buffer: Buffer, loop: For) -> None:
    bound = {stmt.var for stmt in statements(loop) if isinstance(stmt, For | Let)}
    for extent in buffer.shape:
        if varies(extent, bound):
            raise ScheduleError(
                f"expand_storage: cannot expand '{buffer.name}' by loop '{loop.var.name}'",
                because="its shape is not the same in each iteration",
            )


def _check_places(program: Program, buffer: Buffer, loop: Var) -> None:
    """Refuse a buffer in the place of a reduction over the loop: that has to be one for all of its iterations."""
    for site in sites_in(loop_site(program, loop, "expand_storage")):
        reduction = site.stmt
        if not isinstance(reduction, Reduce) or loop not in reduction.axes:
            continue
        if any(part.buffer is buffer for part in loads(*map(site.expand, reduction.indices))):
            raise ScheduleError(
                f"expand_storage: cannot expand '{buffer.name}' by loop '{loop.name}'",
                because=f"it says where '{reduction.label.name}' adds up, which would depend on what is summed over",
            )


@dataclass
class _ExpandStorage(Rewriter):
    old: Buffer = field(kw_only=True)
    new: Buffer = field(kw_only=True)
    loop: Var = field(kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        own, inner = super().access(buffer, indices)
        return (self.new, (Ref(self.loop), *inner)) if buffer is self.old else (own, inner)

    def stmt(self, stmt: Stmt) -> Stmt:
        inside = contents(stmt)
        if not touches(stmt, self.old) and self.loop not in inside.loops and self.old not in inside.buffers:
            return stmt
        match stmt:
            case For(var=var) if var is self.loop:
                return Alloc(self.new, super().stmt(stmt), stmt.at)
            case Alloc(buffer=buffer, body=body) if buffer is self.old:
                return self.stmt(body)
            case _:
                return super().stmt(stmt)
