"""Memory that is asked for before it is needed: short runs far apart, which the processor does not foresee."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ragged.analysis.strides import flat_growth
from ragged.arith.affine import growth
from ragged.arith.fold import ONE, ZERO, at_least_zero, floordiv, plus, times
from ragged.arith.index_intervals import at_most
from ragged.ir.buffer_size import bytes_of, constant_shape
from ragged.ir.expr import Binary, Const, Expr, Load, Role
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, path_to, sites
from ragged.ir.stmt import Alloc, For, LoopKind, Reduce, Store, lanes_at_most
from ragged.ir.walk import loads, mentions, written
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.prefetch import LINE_BYTES, prefetch

_PAGE_BYTES = 4096
"""Within such a page a processor foresees what is read next."""
_AGAIN = 4
"""So often may the same line be asked for, by iterations in which the operand stays."""
_DEPTH = 3
"""The most loops ahead: of images, channels and rows."""


def prefetch_ahead(schedule: LoopSchedule, machine: Machine) -> None:
    """Prefetch what sums in registers read in short runs far apart: it comes while others are added up.

    before::

        for n in serial(rows):
            for h in serial(54):
                y = local(float32[4, 64], scope=register)
                for c in serial(8):
                    for q in serial(3):
                        for f in unrolled(4):
                            for w in vectorized(64):
                                y[f, w] += x[n, c, h, w + q] * k[f, c, q]

    after `prefetch(program, y, x, c, (n, h), 4, (w,))`, each iteration of `c` begins with four prefetches of the row
    that it reads four iterations of `h` later: so many that an eighth of the first cache is read between the two.
    A buffer that, as its shape says, fits into the second cache is left as it is, and so is what a primitive refuses.
    Comes last.
    """
    for found in list(_found(schedule.program, machine)):
        with schedule.attempt():
            schedule.apply(
                prefetch,
                found.stmt.label,
                found.load.buffer,
                found.place.var,
                tuple(loop.var for loop in found.ahead),
                found.distance,
                tuple(loop.var for loop in found.row),
            )


@dataclass(frozen=True, slots=True)
class _Operand:
    """What a sum in registers reads, lets substituted; `place` is the outermost loop that it is added up over."""

    stmt: Store | Reduce
    load: Load
    around: tuple[For, ...]
    place: For
    inside: tuple[For, ...]
    between: int
    """The bytes that are read between a prefetch and its use."""

    @property
    def row(self) -> tuple[For, ...]:
        """The loops of the tile in which it moves by steps that are known."""
        return tuple(
            loop
            for loop in self.inside
            if _moves(self.load, loop)
            and all(growth(index, loop.var) is not None for index in self.load.indices)
            and lanes_at_most(loop) is not None
            and any(mentions(index, (loop.var,)) for index in self.stmt.indices)
        )

    @property
    def run(self) -> int:
        """How many elements are read side by side; those of rows of unknown steps, a cache line."""
        if self.row:
            return prod(lanes_at_most(loop) or 1 for loop in self.row if _is_side_by_side(self.load, loop))
        tile = any(_moves(self.load, loop) and loop.kind is LoopKind.UNROLLED for loop in self.inside)
        return LINE_BYTES // self.load.buffer.dtype.bytes if tile else 1

    @property
    def is_foreseen(self) -> bool:
        """True if it is read in order, or in rows that are long, or too short to be worth it, or in no rows."""
        fastest = self.load.buffer.order[-1]
        step = growth(self.load.indices[fastest], self.place.var)
        bytes_of_run = self.run * self.load.buffer.dtype.bytes
        apart = flat_growth(self.load.buffer, self.load.indices, self.place.var)
        return (
            step != 0
            or (apart is not None and apart < 2 * self.run)
            or not _moves(self.load, self.place)
            or not LINE_BYTES // 3 < bytes_of_run < _PAGE_BYTES
            or any(
                (growth(self.load.indices[fastest], loop.var) or 0) >= self.run
                for loop in self.inside
                if loop not in self.row
            )
        )

    @property
    def ahead(self) -> tuple[For, ...]:
        """The loops around in which it changes, outermost first; none if it is read again in the nearest.

        None either if these go along rows that are read from the first one on: their next elements are foreseen.
        """
        chain: list[For] = []
        for loop in reversed(self.around):
            if loop.kind not in (LoopKind.SERIAL, LoopKind.PARALLEL) or len(chain) == _DEPTH:
                break
            if not _moves(self.load, loop):
                if chain or not _is_short(loop):
                    break
                continue
            if any(mentions(each.extent, (loop.var,)) for each in chain):
                break
            chain.insert(0, loop)
        rows = any(map(self._changes_rows, chain))
        return tuple(chain) if rows and not all(map(_is_short, chain)) else ()

    def _changes_rows(self, loop: For) -> bool:
        fastest = self.load.buffer.order[-1]
        return any(mentions(index, (loop.var,)) for d, index in enumerate(self.load.indices) if d != fastest)

    @property
    def distance(self) -> Expr:
        """How many iterations of the innermost loop ahead an eighth of the first cache is, after those of a window."""
        rows = prod(lanes_at_most(loop) or 1 for loop in self.row if not _is_side_by_side(self.load, loop))
        lines = -(-self.run * self.load.buffer.dtype.bytes // LINE_BYTES) * LINE_BYTES * rows
        extent = self.place.extent
        if isinstance(extent, Const):
            iterations: Expr = Const(self.between // max(int(extent.value) * lines, 1) + 1)
        else:
            each = times(Binary(BinaryOp.MAX, extent, ONE), Const(lines))
            iterations = plus(Binary(BinaryOp.FLOORDIV, Const(self.between), each), ONE)
        return at_least_zero(plus(iterations, self._window()))

    def _window(self) -> Expr:
        """Return how many iterations of the innermost loop ahead come between a row's first use and its last."""
        chain, row = self.ahead, self.row
        total: Expr = ZERO
        for loop in self.inside:
            for index in self.load.indices if loop not in row else ():
                step = growth(index, loop.var)
                for place, outer in enumerate(chain):
                    each = growth(index, outer.var)
                    if step is not None and each is not None and step > 0 and each > 0:
                        wide = floordiv(times(plus(loop.extent, Const(-1)), Const(step)), each)
                        for inner in chain[place + 1 :]:
                            wide = times(wide, inner.extent)
                        total = plus(total, wide)
        return total


def _found(program: Program, machine: Machine) -> Iterator[_Operand]:
    """Yield the operands of sums in registers that are to be prefetched, one of each buffer."""
    for site in sites(program):
        stmt = site.stmt
        if site.stage.kind is not StageKind.KERNEL or not isinstance(stmt, Store | Reduce):
            continue
        place = _place(site, stmt)
        if place is None:
            continue
        seen = set()
        loops = site.loops
        at = loops.index(place)
        kept = next((loop for loop in loops if loop.kind is not LoopKind.TEAM), place)
        for part in loads(stmt.value):
            known = part.buffer in seen or part.buffer in written(kept) or not part.indices
            if known or part.buffer.role is Role.LOCAL or _fits(part, machine):
                continue
            load = path_to(site).expand(part)
            assert isinstance(load, Load)
            operand = _Operand(stmt, load, loops[:at], place, loops[at + 1 :], machine.l1_bytes // 8)
            if not operand.is_foreseen and operand.ahead:
                seen.add(part.buffer)
                yield operand


def _fits(load: Load, machine: Machine) -> bool:
    return constant_shape(load.buffer) is not None and bytes_of(load.buffer) <= machine.l2_bytes


def _place(site: Site, stmt: Store | Reduce) -> For | None:
    """Return the outermost loop that a sum in a tile of registers is added up over; None without one."""
    if stmt.buffer.role is not Role.LOCAL:
        return None
    inside = False
    found: For | None = None
    for outer in site.around:
        if isinstance(outer, Alloc):
            inside = inside or outer.buffer is stmt.buffer
        elif isinstance(outer, For) and inside:
            if not any(mentions(index, (outer.var,)) for index in stmt.indices):
                found = found or outer
            elif found is not None and lanes_at_most(outer) is None:
                found = None
    return found


def _moves(load: Load, loop: For) -> bool:
    return any(mentions(index, (loop.var,)) for index in load.indices)


def _is_short(loop: For) -> bool:
    most = at_most(loop.extent, {})
    return most is not None and most <= _AGAIN


def _is_side_by_side(load: Load, loop: For) -> bool:
    """Return whether the loop moves along the dimension that is contiguous, by one or by a vector."""
    fastest = load.buffer.order[-1]
    return all(
        bool(growth(index, loop.var)) == (dimension == fastest)
        for dimension, index in enumerate(load.indices)
    )
