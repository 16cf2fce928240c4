"""cache_write: accumulate in a local buffer and store the result once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.access_range import is_certain, is_covered, spans
from ragged.analysis.accesses import BufferAccess, UseKind, inside, uses_in
from ragged.analysis.buffers import check_alone
from ragged.analysis.regions import (
    BufferRegion,
    Home,
    Redirect,
    check_barriers,
    check_lanes,
    check_one_at_a_time,
    check_outlives,
    home_of,
    region_of,
)
from ragged.arith.bindings import Bindings, bindings
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Expr, Load, Ref, Var
from ragged.ir.index import contents
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten, substitute
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, For, Label, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import leaves, written
from ragged.transform.locate import loop_site


def cache_write(program: Program, statement: Label, loop: Var) -> Rewritten:
    """Hold what `statement` accumulates in `loop` in a local buffer in registers, and store it at the end.

    before::

        for io in serial(16):
            for ii in serial(16):
                t[io * 16 + ii]: t.init = 0.0
            for j in serial(256):
                for ii_1 in serial(16):
                    t[io * 16 + ii_1] += U[io * 16 + ii_1, j] * v[j]

    after `cache_write(program, t, io)`::

        for io in serial(16):
            t_acc = local(float32[16], scope=register)
            for ii in serial(16):
                t_acc[ii]: t.init = 0.0
            for j in serial(256):
                for ii_1 in serial(16):
                    t_acc[ii_1]: t += U[io * 16 + ii_1, j] * v[j]
            for ii_1_w in serial(16):
                t[io * 16 + ii_1_w]: t.w = t_acc[ii_1_w]

    The region of the buffer is that which the statement, a reduction or a store, reaches while the loop's body runs
    once. The order of the reduction stays, and so do all bits. The statement's forwarding is (itself, the store at
    the end); that of the loops which its place depends on (itself, the one around that store).

    Raises:
        ScheduleError: there is no such statement in the loop; the buffer is allocated inside it; the region is not one
            of constant extents; it is not all stored before the loop's body does anything else with it; the body
            touches other elements of the buffer.
    """
    place = loop_site(program, loop, "cache_write")
    assert isinstance(place.stmt, For)
    stmt = _statement(program, statement, place.stmt)
    buffer, known = stmt.buffer, bindings(program)
    found = uses_in(inside(place), buffer)
    what = f"cache_write: cannot hold '{buffer.name}' in loop '{loop.name}'"
    check_lanes(what, place)
    check_barriers(what, place)
    check_one_at_a_time(what, place, found)
    check_alone(program, buffer, "cache_write")
    home = home_of(place, found)
    check_outlives(what, home, found)
    chosen = next(use for use in found if use.site.stmt is stmt and use.writes)
    asked = _Asked(what, program, buffer, known, found, home)
    region = asked.region(chosen)
    asked.check_started(region)
    reached = spans(chosen, home.depth, known)
    assert reached is not None
    return _Hold(
        whole=buffer,
        local=region.buffer(buffer, f"{buffer.name}_acc", MemoryScope.REGISTER),
        region=region,
        known=known,
        home=home,
        chosen=chosen,
        variables=frozenset(part.var for each in reached for part in each.parts),
    ).program(program)


def _statement(program: Program, statement: Label, loop: For) -> Store | Reduce:
    """Return a statement in a loop, looked for elsewhere only to say why it is none."""
    name = f"cache_write: '{statement.name}'"
    inside = statement in contents(loop).labels
    bodies = (loop,) if inside else tuple(stage.body for stage in program.stages)
    stmt = next((leaf for body in bodies for leaf in leaves(body) if leaf.label is statement), None)
    if stmt is None:
        raise ScheduleError(
            f"{name} is no statement of the program",
            because="it was never there, or an earlier step put others in its place",
            fix="name a statement of this program: `s.statement(name)`",
        )
    if not isinstance(stmt, Store | Reduce):
        raise ScheduleError(f"{name} writes no buffer", fix="name a reduction or a store")
    if not inside:
        raise ScheduleError(
            f"{name} is not in loop '{loop.var.name}'",
            because="what it writes is held while that loop's body runs",
            fix="name a loop around it",
        )
    return stmt


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for, and what there is of the buffer in the loop."""

    what: str
    program: Program
    buffer: Buffer
    known: Bindings
    found: Sequence[BufferAccess]
    home: Home

    def refusal(self, because: str, fix: str | None = None) -> ScheduleError:
        return ScheduleError(self.what, because=because, fix=fix)

    def text(self, use: BufferAccess) -> str:
        return expr_text(Load(self.buffer, use.indices))

    def region(self, chosen: BufferAccess) -> BufferRegion:
        """Return the region that the chosen statement writes, which no use in the loop leaves."""
        reached = spans(chosen, self.home.depth, self.known)
        region = None if reached is None else region_of(reached)
        if region is None:
            raise self.refusal(
                f"{self.text(chosen)} is not one region: its indices are not the loop's own "
                "and all places of loops inside that have constant extents",
                "split or reorder the loops so that those inside have constant extents",
            )
        for use in self.found:
            if not region.holds(use.indices, self.known):
                raise self.refusal(
                    f"{self.text(use)} is {use.kind.value} in it too, "
                    f"and is not surely in the region of {self.text(chosen)}",
                    "name a loop in which one region is all that is used",
                )
        return region

    def check_started(self, region: BufferRegion) -> None:
        """Refuse unless a store of the whole region comes before all else, in each iteration."""
        first = self.found[0]
        reached = spans(first, self.home.depth, self.known)
        if (
            first.kind is not UseKind.STORE
            or reached is None
            or not region.matches(reached)
            or not is_certain(first, self.home.depth, reached, self.known)
        ):
            raise self.refusal(
                f"{self.text(first)} is {first.kind.value} first, "
                "which does not give every element of the region a value",
                "name a loop around the store that the reduction starts from",
            )
        for use in self.found[1:]:
            if not is_covered(self.program, self.known, first, use) and use.kind is not UseKind.STORE:
                raise self.refusal(f"{self.text(use)} is {use.kind.value} before it surely has been stored")


@dataclass
class _Hold(Redirect):
    chosen: BufferAccess = field(kw_only=True)
    variables: frozenset[Var] = field(kw_only=True)

    def arrange(self, parts: list[Stmt]) -> Stmt:
        held = [
            index for index, part in enumerate(parts) if uses_in(_bare(self.chosen.site, part), self.whole)
        ]
        last = max(index for index, part in enumerate(parts) if self.whole in written(part))
        new = [self.stmt(part) for part in parts]
        inner = block(*new[held[0] : last + 1], self.stored(), *new[last + 1 :])
        return block(*new[: held[0]], Alloc(self.local, inner))

    def stmt(self, stmt: Stmt) -> Stmt:
        new = super().stmt(stmt)
        if isinstance(new, Reduce) and new.buffer is self.local:
            inner = contents(self.home.stmt.body).loops
            # It starts anew in each iteration of the loops outside, whatever it said of them.
            return replace(new, axes=tuple(axis for axis in new.axes if axis in inner))
        return new

    def stored(self) -> Stmt:
        """Return the nest that stores the region."""
        stmt = self.chosen.site.stmt
        assert isinstance(stmt, Store | Reduce)
        loops = [loop for loop in _loops_inside(self.chosen, self.home) if loop.var in self.variables]
        copies: dict[Var, Expr] = {loop.var: Ref(self.copied_loop(loop.var, "w")) for loop in loops}
        lets = Site(self.chosen.site.stage, stmt, self.chosen.site.around[self.home.depth :])
        indices = tuple(substitute(lets.expand(index), copies) for index in stmt.indices)
        value = Load(self.local, tuple(substitute(index, copies) for index in self.place(stmt.indices)))
        nest: Stmt = Store(self.copied(stmt.label, "w"), self.whole, indices, value, stmt.at)
        for depth, loop in enumerate(reversed(loops)):
            copy = copies[loop.var]
            assert isinstance(copy, Ref)
            kind = LoopKind.SERIAL if loop.kind is LoopKind.VECTORIZED and depth else loop.kind
            nest = For(copy.var, self.known.extents[loop.var], nest, kind, loop.dim, loop.at)
        return nest


def _bare(site: Site, part: Stmt) -> Site:
    return replace(site, stmt=part)


def _loops_inside(use: BufferAccess, home: Home) -> list[For]:
    return [outer for outer in use.site.around[home.depth :] if isinstance(outer, For)]
