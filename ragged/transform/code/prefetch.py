"""prefetch: ask for the memory that a statement reads some iterations later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat

from ragged.analysis.buffers import READ_ONLY
from ragged.analysis.dependence import storage
from ragged.analysis.site_of import site_of
from ragged.analysis.strides import is_consecutive
from ragged.arith.fold import ONE, ZERO, FoldedSubstitution, floordiv, modulo, plus, times
from ragged.arith.index_intervals import interval_of, nothing
from ragged.errors import ScheduleError
from ragged.ir.build import all_of, sub, within
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import ElementAccess, Site, path_to
from ragged.ir.stmt import Barrier, For, If, Label, Let, LoopKind, Prefetch, Stmt, block
from ragged.ir.walk import held, loads, lookups, mentions, statements, written
from ragged.passes.assume import assume
from ragged.transform.index_checks import require_index
from ragged.transform.legality import require_no_lanes
from ragged.transform.locate import Replace, loop_site

LINE_BYTES = 64
"""Bytes of a cache line."""


def prefetch(
    program: Program,
    stmt: Label,
    buffer: Buffer,
    place: Var,
    loops: Sequence[Var],
    distance: Expr,
    over: Sequence[Var] = (),
) -> Rewritten:
    """Prefetch the elements of `buffer` that a statement reads `distance` iterations of the nest `loops` later.

    before::

        for n in serial(rows):
            for h in serial(54):
                for c in serial(8):
                    for q in serial(3):
                        for w in vectorized(32):
                            y[w] += x[n, c, h, w + q] * k[c, q]

    after `prefetch(program, y, x, c, (n, h), 4, (w,))`::

        for n in serial(rows):
            for h in serial(54):
                h_ahead = h + 4
                n_ahead = min(n + h_ahead // 54, rows - 1)
                for c in serial(8):
                    for w_line in unrolled(2):
                        prefetch(x[n_ahead, c, h_ahead % 54, w_line * 16])
                    for q in serial(3):
                        ...

    The prefetches stand at the beginning of each iteration of the loop `place`, which is in the innermost of `loops` or
    is it. The iterations of `loops`, outermost first, are counted as those of one loop; for those after the end of the
    outermost loop, its last iteration stands. Of the loops inside `place` those in `over` are gone through, by lines
    of 64 bytes where neighbours are side by side in memory, and of the others the first iteration, if they have one,
    stands for all.

    Where a condition leaves out iterations of the nest, so does it those that prefetch. One that is another in the
    iteration ahead is not evaluated: the indices are compared with the shape instead. The forwarding of a loop in
    `over` is itself and those over its lines, that of the statement itself and its prefetches.

    Raises:
        ScheduleError: there is no such statement or loop; the statement does not read the buffer; it, or what its
            index or a condition is read from, is written in the outermost of `loops`; the loops do not stand around
            each other as above; the extent of one down to `place` changes with the loops ahead, or that of one inside
            of it is looked up; a condition that changes leaves out iterations, and the index or another condition is
            looked up or the buffer is one that the program writes; or the distance may be negative.
    """
    what = f"prefetch: cannot prefetch '{buffer.name}' in loop '{place.name}'"
    nest = _Ahead(program, stmt, buffer, place, tuple(loops), tuple(over), what)
    inner = loop_site(program, nest.loops[-1], "prefetch")
    facts = require_index(program, inner, distance, ZERO, what)
    if interval_of(distance, nothing)[0] < 0:
        because = f"{expr_text(distance)} may be negative"
        raise ScheduleError(what, because=because, fix="a distance that is a maximum of 0 and something")
    lets, values = nest.ahead(distance)

    def change(found: For, owner: Rewriter) -> Stmt:
        asked = [nest.prefetch(access, values, owner) for access in nest.accesses]
        at_place = Replace(loop=place, change=lambda each, _: replace(each, body=block(*asked, each.body)))
        inner = block(*asked, found.body) if place is found.var else at_place.stmt(found.body)
        for var, value in reversed(lets):
            inner = Let(var, value, inner)
        return replace(found, body=inner)

    result = Replace(loop=nest.loops[-1], change=change).program(program)
    return replace(result, program=assume(result.program, facts))


class _Ahead:
    """The loops that the elements are read in; refuses arguments that do not fit together."""

    def __init__(
        self,
        program: Program,
        stmt: Label,
        buffer: Buffer,
        place: Var,
        loops: tuple[Var, ...],
        over: tuple[Var, ...],
        what: str,
    ) -> None:
        found = site_of(program, stmt)
        if found is None:
            raise ScheduleError(what, because=f"the program has no statement '{stmt.name}'")
        self.what, self.label = what, stmt
        self.site: Site = found
        self.around = {loop.var: loop for loop in found.loops}
        self.loops, self.over = loops, over
        self.inside = self._inside(place, what)
        reads = path_to(found).read(*held(found.stmt))
        self.accesses = tuple(dict.fromkeys(access for access in reads if access.buffer is buffer))
        if not self.accesses:
            raise ScheduleError(what, because=f"'{stmt.name}' does not read '{buffer.name}'")
        self.around_place = path_to(loop_site(program, place, "prefetch")).conditions
        self._check_values()

    def _check_values(self) -> None:
        """Refuse elements that may not have their values yet, and extents that are looked up in other iterations."""
        whole = self.around[self.loops[0]]
        changed = set(map(storage, written(whole)))
        meets = any(isinstance(inner, Barrier) for inner in statements(whole))
        asked = [expr for access in self.accesses for expr in (*access.indices, *access.conditions)]
        for read in (self.accesses[0].buffer, *(part.buffer for part in loads(*asked))):
            if storage(read) in changed or (meets and read.role not in READ_ONLY):
                raise ScheduleError(
                    self.what,
                    because=f"'{read.name}' is written in loop '{whole.var.name}', and has not all values yet",
                    fix="fewer loops ahead",
                )
        for loop in self.inside:
            if next(lookups(self.extent(loop.var)), None) is not None:
                raise ScheduleError(
                    self.what,
                    because=f"how often loop '{loop.var.name}' runs is looked up",
                    fix="a place inside of it",
                )

    def _inside(self, place: Var, what: str) -> tuple[For, ...]:
        """Return the loops inside `place` around the statement."""
        order = list(self.around)
        for var in (place, *self.loops, *self.over):
            if var not in self.around:
                raise ScheduleError(what, because=f"loop '{var.name}' is not around the statement")
        places = [order.index(var) for var in self.loops]
        if not places or places != sorted(set(places)) or places[-1] > order.index(place):
            raise ScheduleError(what, because="the loops ahead do not stand around it, outermost first")
        for var in (place, *self.loops):
            require_no_lanes(self.around[var], what, "name a loop around it")
        inside = order[order.index(place) + 1 :]
        for var in self.over:
            if var not in inside:
                raise ScheduleError(what, because=f"loop '{var.name}' is not inside of it")
        first = order.index(self.loops[0])
        for var in order[first : order.index(place) + 1]:
            if mentions(self.extent(var), self.loops):
                raise ScheduleError(
                    what, because=f"the extent of loop '{var.name}' changes with a loop around it"
                )
        return tuple(self.around[var] for var in inside)

    def extent(self, var: Var) -> Expr:
        """Return the extent of a loop around the statement, lets substituted."""
        return path_to(self.site).expand(self.around[var].extent)

    def ahead(self, distance: Expr) -> tuple[list[tuple[Var, Expr]], dict[Var, Expr]]:
        """Return what is bound in the innermost of the loops, and what each loop's variable is `distance` later."""
        lets: list[tuple[Var, Expr]] = []
        values: dict[Var, Expr] = {}
        carry = distance
        for var in reversed(self.loops):
            bound, extent = Var(f"{var.name}_ahead"), self.extent(var)
            later = plus(Ref(var), carry)
            if var is self.loops[0]:
                later = Binary(BinaryOp.MIN, later, sub(extent, ONE))
                values[var] = Ref(bound)
            else:
                values[var], carry = _divided(Ref(bound), extent)
            lets.append((bound, later))
        return lets, values

    def prefetch(self, access: ElementAccess, ahead: Mapping[Var, Expr], owner: Rewriter) -> Stmt:
        """Return the prefetch of one of `accesses`, in its loops and conditions."""
        values = dict(ahead)
        conditions: list[Expr] = []
        steps: list[tuple[Var, Expr]] = []
        for loop in self.inside:
            extent = FoldedSubstitution(values=values).expr(self.extent(loop.var))
            values[loop.var] = ZERO
            if loop.var in self.over:
                each = _per_line(access, loop.var)
                step = owner.copied_loop(loop.var, "line")
                steps.append((step, floordiv(plus(extent, Const(each - 1)), each)))
                values[loop.var] = times(Ref(step), Const(each))
            elif not isinstance(extent, Const) or extent.value <= 0:
                conditions.append(Binary(BinaryOp.GT, extent, ZERO))
        later = FoldedSubstitution(values=values).exprs(access.indices)
        asked: Stmt = Prefetch(owner.copied(self.label, "ahead"), Load(access.buffer, later))
        conditions += self._conditions(access, later)
        if conditions:
            asked = If(all_of(conditions), asked)
        for var, count in reversed(steps):
            kind = LoopKind.UNROLLED if isinstance(count, Const) else LoopKind.SERIAL
            asked = For(var, count, asked, kind)
        return asked

    def _conditions(self, access: ElementAccess, later: Sequence[Expr]) -> Iterator[Expr]:
        """Yield what has to hold for the element to be one that is read, or at least to be in the buffer.

        An iteration ahead is one of the nest's, and reads this very element, unless a condition leaves it out. One that
        is the same in the iteration ahead has to hold; of another one it is not known whether it will.
        """
        changed = {*self.loops, *(loop.var for loop in self.inside)}
        others = [condition for condition in access.conditions if mentions(condition, changed)]
        same = [each for each in access.conditions if each not in others and each not in self.around_place]
        yield from same
        if not others:
            return
        if access.buffer.role not in READ_ONLY or next(lookups(*access.indices, *same), None) is not None:
            raise ScheduleError(
                self.what,
                because=f"where {expr_text(others[0])} does not hold, elements of '{access.buffer.name}' are not read",
                fix="fewer loops ahead, or a buffer that calls bring",
            )
        yield from map(within, later, repeat(ZERO), access.buffer.shape)


def _divided(count: Expr, extent: Expr) -> tuple[Expr, Expr]:
    """Return the place of an iteration in a loop of so many, and the iteration of the loop around it."""
    if isinstance(extent, Const):
        return modulo(count, int(extent.value)), floordiv(count, int(extent.value))
    return Binary(BinaryOp.MOD, count, extent), Binary(BinaryOp.FLOORDIV, count, extent)


def _per_line(access: ElementAccess, var: Var) -> int:
    """Return in how many iterations of a loop the elements are in one cache line; 1 if they are not side by side."""
    side_by_side = is_consecutive(access.buffer, access.indices, var)
    return LINE_BYTES // access.buffer.dtype.bytes if side_by_side else 1
