"""cache_read: copy what a loop reads of a buffer to a local buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.access_range import Span, is_certain
from ragged.analysis.accesses import inside, uses_in
from ragged.analysis.buffers import check_alone, check_known
from ragged.analysis.copy_legality import Copied, check_alike, check_unwritten
from ragged.analysis.obligations import index_obligations
from ragged.analysis.regions import BufferRegion, Redirect, check_barriers, check_lanes, home_of
from ragged.analysis.staged_reads import Reading
from ragged.arith.bindings import bindings
from ragged.arith.fold import ZERO, plus
from ragged.errors import ScheduleError
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Select, Var
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, Check, For, Label, Reduce, Stmt, Store, block
from ragged.ir.walk import statements
from ragged.prove import Unproven, answer
from ragged.transform.locate import loop_site

_FILLED = (Role.PARAMETER, Role.PAYLOAD)


def cache_read(program: Program, buffer: Buffer, loop: Var) -> Rewritten:
    """Copy the region of `buffer` that `loop`'s body reads to a local buffer at its start, and read that.

    before::

        for n in serial(count):
            for i in serial(256):
                for j in serial(256):
                    t[n, i] += U[i, j] * h[left(n), j]

    after `cache_read(program, h, n)`::

        for n in serial(count):
            h_cache = local(float32[256])
            for j_r in serial(256):
                h_cache[j_r] = h[left(n), j_r]
            for i in serial(256):
                for j in serial(256):
                    t[n, i] += U[i, j] * h_cache[j]

    A loop around the copy stands for the loop inside that alone indexes a dimension, and is in its forwarding; the
    others are new, named after the buffer and the dimension.

    Reads through several functions, at no known distance from each other, share one copy with a dimension more, which
    says through which (CORTEX, appendix A.3)::

        for n in serial(count):
            h_cache = local(float32[2, 256])
            for h_way in serial(2):
                for j_r in serial(256):
                    h_cache[h_way, j_r] = h[left(n) if h_way == 0 else right(n), j_r]

    The loop may write the buffer, before the copy or after the last read of it, and in between what is not in it.

    Raises:
        ScheduleError: the buffer is not read in the loop, or what is copied may be written before it is read; what is
            read are not regions of constant extents, one as large as the other; the copy would read what the loop
            might not.
    """
    place = loop_site(program, loop, "cache_read")
    check_known(program, buffer, "cache_read")
    check_alone(program, buffer, "cache_read")
    touched, known = uses_in(inside(place), buffer), bindings(program)
    found = [use for use in touched if not use.writes]
    name = f"cache_read: cannot copy '{buffer.name}' in loop '{loop.name}'"
    if not found:
        raise ScheduleError(
            name,
            because="that loop does not read it",
            fix="name a loop around what reads it, or cache_write what it accumulates",
        )
    check_lanes(name, place)
    if buffer.role not in _FILLED:  # no statement writes these: barriers do not matter
        check_barriers(name, place)
    whole = Reading(name, program, buffer, known, found, home_of(place, found))
    copied = [Copied(part, part.region(reached), reached) for part, reached in whole.apart(whole.spans())]
    check_alike(copied)
    check_unwritten(whole, [use for use in touched if use.writes], copied)
    for each in copied:
        _check_safe(each.reading, each.region, each.reached)
    first = copied[0]
    return _Copy(
        whole=buffer,
        local=_local(first.region.buffer(buffer, f"{buffer.name}_cache", MemoryScope.GLOBAL), len(copied)),
        region=first.region,
        known=known,
        home=whole.home,
        ways=copied,
        loops=_loops(first.region, first.reached),
    ).program(program)


def _local(one: Buffer, ways: int) -> Buffer:
    """Return the buffer for so many regions like the one that `one` is for."""
    return one if ways == 1 else one.stacked(Const(ways))


def _check_safe(reading: Reading, region: BufferRegion, reached: Sequence[tuple[Span, ...]]) -> None:
    """Refuse unless the copy reads nothing but what the loop reads, or a parameter within its bounds."""
    depth = reading.home.depth
    certain = any(
        region.matches(each) and is_certain(use, depth, each, reading.known)
        for use, each in zip(reading.found, reached, strict=True)
    )
    if not certain and reading.buffer.role not in _FILLED:
        raise ScheduleError(
            reading.name,
            because="no one of its reads surely reads all of the region: the rest may not have been written",
            fix="name a loop inside the conditions, or fission it so that each part reads one region",
        )
    if certain and not any(isinstance(stmt, Check) for stmt in statements(reading.home.stmt)):
        return
    site = reading.found[0].site
    around = Site(site.stage, site.stmt, site.around[:depth])
    goal: Expr = Const(True, DType.BOOL)
    for base, extent, size in zip(region.bases, region.extents, reading.buffer.shape, strict=True):
        low = Binary(BinaryOp.LE, ZERO, base.expr)
        high = Binary(BinaryOp.LE, plus(base.expr, Const(extent)), size)
        goal = Binary(BinaryOp.AND, goal, Binary(BinaryOp.AND, low, high))
        for access in index_obligations(base.expr):
            goal = Binary(BinaryOp.AND, goal, access.condition)
    found = answer(reading.program, around, goal)
    if isinstance(found, Unproven):
        raise ScheduleError(
            reading.name,
            because="the copy may reach outside the buffer, where the loop is kept from it by a condition",
            example=found.example,
            fix="name a loop inside the condition",
        )


def _loops(region: BufferRegion, reached: Sequence[tuple[Span, ...]]) -> tuple[Var | None, ...]:
    """Return for each kept dimension the loop that alone indexes it."""
    return tuple(_loop(region, dimension, reached) for dimension in region.kept)


def _loop(region: BufferRegion, dimension: int, reached: Sequence[tuple[Span, ...]]) -> Var | None:
    for each in (use[dimension] for use in reached):
        if len(each.parts) == 1 and each.numbers == region.extents[dimension]:
            return each.parts[0].var
    return None


@dataclass
class _Copy(Redirect):
    ways: Sequence[Copied] = field(kw_only=True)
    loops: tuple[Var | None, ...] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Store | Reduce) or stmt.buffer is not self.whole:
            return super().stmt(stmt)
        # It is written where it was.
        stmt = replace(stmt, indices=self.exprs(stmt.indices), value=self.expr(stmt.value))
        return replace(stmt, init=self.expr(stmt.init)) if isinstance(stmt, Reduce) else stmt

    def place(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        way = next(k for k, each in enumerate(self.ways) if each.region.holds(indices, self.known))
        region = self.ways[way].region
        places = region.place(indices, self.known)
        return (*self.way(Const(way)), *(places[d].expr for d in region.kept))

    def way(self, way: Expr) -> tuple[Expr, ...]:
        """Return the index of the dimension for the ways, if there is one."""
        return (way,) if len(self.ways) > 1 else ()

    def arrange(self, parts: list[Stmt]) -> Stmt:
        site = self.ways[0].reading.found[0].site
        first = next(k for k, part in enumerate(parts) if self.reads(Site(site.stage, part, site.around)))
        rest = [self.stmt(part) for part in parts[first:]]
        return block(*parts[:first], Alloc(self.local, block(self.copying(), *rest)))

    def reads(self, site: Site) -> bool:
        """Return whether the statement at `site` reads what is copied."""
        return any(not use.writes for use in uses_in(site, self.whole))

    def copying(self) -> Stmt:
        """Return the nest that copies the regions."""
        kept, way = self.region.kept, Var(f"{self.whole.name}_way")
        fresh = {
            d: Var(f"{self.whole.name}_{d}") if old is None else self.copied_loop(old, "r")
            for d, old in zip(kept, self.loops, strict=True)
        }
        begins = (_chosen(Ref(way), bases) for bases in zip(*(c.begins() for c in self.ways), strict=True))
        source = tuple(plus(base, Ref(fresh[d])) if d in fresh else base for d, base in enumerate(begins))
        target = (*self.way(Ref(way)), *(Ref(fresh[d]) for d in kept))
        nest: Stmt = Store(Label(self.local.name), self.local, target, Load(self.whole, source))
        for d in reversed([d for d in self.whole.order if d in fresh]):
            nest = For(fresh[d], Const(self.region.extents[d]), nest, dim=self.whole.dims[d])
        return For(way, Const(len(self.ways)), nest) if len(self.ways) > 1 else nest


def _chosen(way: Expr, bases: tuple[Expr, ...]) -> Expr:
    """Return the base of that number."""
    *others, chosen = bases if any(base != bases[0] for base in bases) else bases[:1]
    for number, base in reversed(list(enumerate(others))):
        chosen = Select(Binary(BinaryOp.EQ, way, Const(number)), base, chosen)
    return chosen
