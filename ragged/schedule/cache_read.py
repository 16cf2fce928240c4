"""cache_read: what a loop reads of a buffer is copied first, and read from the copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragged.errors import ScheduleError
from ragged.ir.analysis import Site
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Scope, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Alloc, Check, For, Label, Stmt, Store, block
from ragged.ir.walk import statements
from ragged.passes.insert_bound_checks import accesses
from ragged.prove import Unproven, prover_of
from ragged.schedule.bindings import bindings
from ragged.schedule.fold import ZERO, plus
from ragged.schedule.locate import loop_site
from ragged.schedule.reading import Reading
from ragged.schedule.region import Redirect, Region, check_barriers, check_lanes, home_of
from ragged.schedule.span import Span, is_certain
from ragged.schedule.storage import check_alone, check_known
from ragged.schedule.uses import Use, inside, uses_in

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

    Raises:
        ScheduleError: the buffer is not read in the loop, or it is written there; what is read is not one region of
            constant extents; the copy would read what the loop might not.
    """
    place = loop_site(program, loop, "cache_read")
    check_known(program, buffer, "cache_read")
    check_alone(program, buffer, "cache_read")
    found, known = uses_in(inside(place), buffer), bindings(program)
    name = f"cache_read: cannot copy '{buffer.name}' in loop '{loop.name}'"
    _check_reads(name, buffer, found)
    check_lanes(name, place)
    if buffer.role not in _FILLED:  # nobody writes these: barriers do not matter
        check_barriers(name, place)
    reading = Reading(name, program, buffer, known, found, home_of(place, found))
    reached = reading.spans()
    region = reading.region(reached)
    _check_safe(reading, region, reached)
    return _Copy(
        whole=buffer,
        local=region.buffer(buffer, f"{buffer.name}_cache", Scope.GLOBAL),
        region=region,
        known=known,
        home=reading.home,
        reading=reading,
        loops=_loops(region, reached),
    ).program(program)


def _check_reads(name: str, buffer: Buffer, found: Sequence[Use]) -> None:
    if not found:
        raise ScheduleError(name, because="that loop does not use it", fix="name a loop around what reads it")
    for use in found:
        if use.writes:
            raise ScheduleError(
                name,
                because=f"{expr_text(Load(buffer, use.indices))} is {use.kind.value} in it: "
                "the copy would be out of date",
                fix="name a loop that only reads it, or cache_write what it accumulates",
            )


def _check_safe(reading: Reading, region: Region, reached: Sequence[tuple[Span, ...]]) -> None:
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
        for access in accesses(base.expr):
            goal = Binary(BinaryOp.AND, goal, access.condition)
    loops = tuple((loop.var, reading.known.extents[loop.var]) for loop in around.loops)
    conditions = tuple(around.expand(condition) for condition in around.conditions)
    answer = prover_of(reading.program).prove(goal, loops=loops, conditions=conditions)
    if isinstance(answer, Unproven):
        raise ScheduleError(
            reading.name,
            because="the copy may reach outside the buffer, where the loop is kept from it by a condition",
            example=answer.example,
            fix="name a loop inside the condition",
        )


def _loops(region: Region, reached: Sequence[tuple[Span, ...]]) -> tuple[Var | None, ...]:
    """Return for each kept dimension the loop that alone indexes it."""
    return tuple(_loop(region, dimension, reached) for dimension in region.kept)


def _loop(region: Region, dimension: int, reached: Sequence[tuple[Span, ...]]) -> Var | None:
    for each in (use[dimension] for use in reached):
        if len(each.parts) == 1 and each.numbers == region.extents[dimension]:
            return each.parts[0].var
    return None


@dataclass
class _Copy(Redirect):
    reading: Reading = field(kw_only=True)
    loops: tuple[Var | None, ...] = field(kw_only=True)

    def arrange(self, parts: list[Stmt]) -> Stmt:
        site = self.reading.found[0].site
        first = next(
            k for k, part in enumerate(parts) if uses_in(Site(site.stage, part, site.around), self.whole)
        )
        rest = [self.stmt(part) for part in parts[first:]]
        return block(*parts[:first], Alloc(self.local, block(self.copying(), *rest)))

    def copying(self) -> Stmt:
        """Return the nest that copies the region."""
        kept = self.region.kept
        fresh = {
            d: Var(f"{self.whole.name}_{d}") if old is None else self.copied_loop(old, "r")
            for d, old in zip(kept, self.loops, strict=True)
        }
        source = tuple(
            plus(base, Ref(fresh[d])) if d in fresh else base
            for d, base in enumerate(self.reading.begins(self.region))
        )
        target = tuple(Ref(fresh[d]) for d in kept)
        nest: Stmt = Store(Label(self.local.name), self.local, target, Load(self.whole, source))
        for d in reversed([d for d in self.whole.order if d in fresh]):
            nest = For(fresh[d], Const(self.region.extents[d]), nest, dim=self.whole.dims[d])
        return nest
