"""The phases of a kernel, its outermost PARALLEL loops, and where workers who run them together have to meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.dependence import Copies, earlier, find_conflict
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.sites import Branch, Site, sites_in
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Intrinsic,
    Label,
    Let,
    LoopKind,
    Reduce,
    Store,
)
from ragged.ir.walk import children, expressions, mentions, subexpressions


@dataclass(frozen=True, slots=True, eq=False)
class ParallelRegion:
    """An outermost PARALLEL loop: where it stands, and the labelled statements in it.

    Compared by identity: what is in it may be most of a program.
    """

    site: Site
    inside: tuple[Site, ...]

    @property
    def loop(self) -> For:
        """The loop."""
        assert isinstance(self.site.stmt, For)
        return self.site.stmt

    @property
    def depth(self) -> int:
        """How many loops stand around it."""
        return len(self.site.loops)

    @property
    def rows(self) -> For | None:
        """The parallel loop directly in the loop, where that is of constant extent and this one is not.

        How long it is, is known before the loop.
        """
        loop, inner = self.loop, self.loop.body
        if (
            not isinstance(inner, For)
            or inner.kind is not LoopKind.PARALLEL
            or not isinstance(loop.extent, Const)
        ):
            return None
        known = not _loaded(inner) and not mentions(inner.extent, (loop.var,))
        return inner if known and not isinstance(inner.extent, Const) else None

    def is_beside(self, other: ParallelRegion) -> bool:
        """Return whether another phase is run as often, under the same conditions."""
        return self.site.loops == other.site.loops and self.site.conditions == other.site.conditions

    @property
    def labels(self) -> set[Label]:
        """The labels of the statements in it."""
        return {
            site.stmt.label
            for site in self.inside
            if isinstance(site.stmt, Store | Reduce | Check | Barrier | Intrinsic)
        }

    @property
    def reads_around(self) -> tuple[Buffer, ...]:
        """The buffers that its extent and what stands around it read, and those that are allocated there."""
        found: list[Buffer] = []
        for outer in (*self.site.around, self.loop):
            match outer:
                case Alloc(buffer=buffer):
                    found.append(buffer)
                case Branch(branch=branch):
                    found += _loaded(branch)
                case For() | Let():
                    found += _loaded(outer)
        return tuple(found)


def _loaded(stmt: For | Let | If) -> list[Buffer]:
    parts = (part for expr in expressions(stmt) for part in subexpressions(expr))
    return [part.buffer for part in parts if isinstance(part, Load)]


def outermost_parallel(around: Site) -> list[ParallelRegion]:
    """Return the phases of the statement at a site, in the order of the text."""
    phases: list[ParallelRegion] = []
    for site in sites_in(around):
        if _is_parallel(site) and not any(loop.kind is LoopKind.PARALLEL for loop in site.loops):
            inner = (each for each in sites_in(site) if not children(each.stmt))
            phases.append(
                ParallelRegion(site, tuple(each for each in inner if not isinstance(each.stmt, Block)))
            )
    return phases


def _is_parallel(site: Site) -> bool:
    return isinstance(site.stmt, For) and site.stmt.kind is LoopKind.PARALLEL


@dataclass(frozen=True, slots=True)
class _Pending:
    """A phase that has run since the last barrier.

    What comes next agrees with it in the outermost `common` loops, and is in a later iteration of `carrier`, the next
    loop, if there is one. All have `met` since then if there are rows that are shared out.
    """

    phase: ParallelRegion
    common: int
    carrier: Var | None = None
    met: bool = False

    @property
    def inside(self) -> int:
        """How many loops around what comes next are begun anew only after it: in the next one, workers can meet."""
        return self.common if self.carrier is None else self.common + 1


@dataclass
class _Walk:
    """Goes through a stage in the order that it runs and notes, of each phase that has to wait, in how many loops.

    A loop's body is gone through twice, and so the most that is found holds: who waits in more loops waits for all.
    With `aligned`, two phases of one extent that is a number are shared out alike: whoever has an iteration of the one
    has that of the other. With `crossed`, those that have rows may be shared out by these instead, if there are enough:
    `sometimes` are the phases that wait where some are, `carried` those that wait where some are, or were in the
    iteration before of the loop around. Of the buffers in `copied` each worker has a copy.
    """

    program: Program
    phases: dict[Var, ParallelRegion]
    aligned: bool = False
    crossed: bool = False
    copied: frozenset[Buffer] = frozenset()
    needed: dict[ParallelRegion, int] = field(default_factory=dict)
    sometimes: set[ParallelRegion] = field(default_factory=set)
    carried: dict[ParallelRegion, Var] = field(default_factory=dict)

    def visit(self, site: Site, pending: tuple[_Pending, ...]) -> tuple[_Pending, ...]:
        """Return what is pending after the statement at `site`, given what is before it."""
        match site.stmt:
            case For(var=var) if var in self.phases:
                return self._phase(self.phases[var], pending)
            case For():
                return self._loop(site, site.stmt, pending)
            case If(then=then, orelse=orelse):
                yes = self.visit(Site(site.stage, then, (*site.around, Branch(site.stmt, True))), pending)
                if orelse is None:
                    return _union(pending, yes)
                no = self.visit(Site(site.stage, orelse, (*site.around, Branch(site.stmt, False))), pending)
                return _union(yes, no)
            case Let(body=body) | Alloc(body=body):
                return self.visit(Site(site.stage, body, (*site.around, site.stmt)), pending)
            case Barrier():
                return ()
            case _:
                for child in children(site.stmt):
                    pending = self.visit(Site(site.stage, child, site.around), pending)
                return pending

    def _phase(self, phase: ParallelRegion, pending: tuple[_Pending, ...]) -> tuple[_Pending, ...]:
        needed = [each.inside for each in pending if self._depends(phase, each)]
        if needed:
            depth = max(needed)  # there workers have met since all of them, and not more often than they must
            self.needed[phase] = max(depth, self.needed.get(phase, 0))
            pending = tuple(each for each in pending if each.inside > depth)
        by_rows = [each for each in pending if self._waits_by_rows(phase, each)]
        if by_rows:
            self.sometimes.add(phase)
            carrier = next((each.carrier for each in by_rows if each.carrier is not None), None)
            if carrier is not None:
                self.carried[phase] = carrier
            pending = tuple(
                replace(
                    each, met=each.met or (each.phase.is_beside(phase) and each.carrier in (None, carrier))
                )
                for each in pending
            )
        return (*pending, _Pending(phase, phase.depth))

    def _waits_by_rows(self, phase: ParallelRegion, pending: _Pending) -> bool:
        """Return whether a phase waits for one before it where rows are shared out, and there alone."""
        crossed = not pending.met and self._is_crossed(phase, pending) and self._alike(phase, pending)
        return crossed and self._depends(phase, pending, by_rows=True)

    def _loop(self, site: Site, loop: For, pending: tuple[_Pending, ...]) -> tuple[_Pending, ...]:
        body, depth = Site(site.stage, loop.body, (*site.around, loop)), len(site.loops)
        once = self.visit(body, pending)
        carried = tuple(
            _Pending(each.phase, depth, loop.var)
            for each in once
            if any(outer is loop for outer in each.phase.site.loops)
        )
        again = self.visit(body, _union(pending, carried))
        ended = tuple(
            replace(each, common=depth, carrier=None) if each.common >= depth else each for each in again
        )
        return _union(pending, ended)  # it may have run not once

    def _alike(self, phase: ParallelRegion, pending: _Pending) -> bool:
        """Return whether who has an iteration of the one has that of the other, unless they are shared out by rows.

        By what they are shared out may be another thing in each iteration of the loop around them, where all can meet
        after one in which it was rows, if they run in each.
        """
        one, other = pending.phase, phase
        same = isinstance(one.loop.extent, Const) and one.loop.extent == other.loop.extent
        if self._is_crossed(phase, pending):
            innermost = [None, *(loop.var for loop in other.site.loops)][-1]
            each_time = pending.carrier is innermost and not other.site.conditions
            same &= one.is_beside(other) and (pending.carrier is None or each_time)
        return self.aligned and same

    def _is_crossed(self, phase: ParallelRegion, pending: _Pending) -> bool:
        return self.crossed and (phase.rows is not None or pending.phase.rows is not None)

    def _depends(self, phase: ParallelRegion, pending: _Pending, *, by_rows: bool = False) -> bool:
        """Return whether a phase depends on one before it, in what another worker did of it."""
        one, other, alike = pending.phase.loop, phase.loop, self._alike(phase, pending)
        if by_rows:
            rows, others = pending.phase.rows, phase.rows
            alike = rows is not None and others is not None and rows.extent == others.extent
            alike &= pending.carrier is None
            one, other = rows or one, others or other

        def relation(first: Copies, second: Copies) -> tuple[Expr, ...]:
            apart = (Binary(BinaryOp.NE, first[one.var], second[other.var]),) if alike else ()
            return (*apart, *(() if pending.carrier is None else (earlier(first, second, pending.carrier),)))

        return (
            find_conflict(
                self.program,
                pending.phase.inside,
                phase.inside,
                pending.common,
                relation,
                about=lambda buffer: buffer not in self.copied,
            )
            is not None
        )


def _union(a: tuple[_Pending, ...], b: tuple[_Pending, ...]) -> tuple[_Pending, ...]:
    return tuple(dict.fromkeys((*a, *b)))


@dataclass(frozen=True, slots=True)
class BarrierPlacement:
    """The loops before which a team has to meet, and those before which it has to where rows are shared out.

    Before those in `carried` it has to where rows were, too, in the iteration before of the loop that is named.
    """

    always: set[Var]
    crossed: set[Var]
    carried: Mapping[Var, Var]


def barriers_before(
    program: Program,
    around: Site,
    phases: Sequence[ParallelRegion],
    *,
    aligned: bool = False,
    crossed: bool = False,
    copied: frozenset[Buffer] = frozenset(),
) -> BarrierPlacement:
    """Return the loops before which a team has to meet, because a phase in them may depend on what came before.

    Such a loop stands directly in the one that carries the dependence (CORTEX, appendix A.4), if a loop does: a phase
    that loops inside that one repeat does not wait in each of their iterations. What is not proven to be independent
    counts as a dependence. Those who meet at a barrier that is there already have waited.

    `phases` are those of the statement at `around`. With `aligned`, phases of one extent that is a number are shared
    out alike, and what an iteration does for the same one of another phase is done by whoever does both. With
    `crossed`, those that have rows are shared out by these at times. Of the buffers in `copied` each worker has a copy,
    where he finds what he has written himself.
    """
    walk = _Walk(program, {phase.loop.var: phase for phase in phases}, aligned, crossed, copied)
    walk.visit(around, ())
    always = {(*phase.site.loops, phase.loop)[depth].var for phase, depth in walk.needed.items()}
    carried = {
        phase.loop.var: carrier for phase, carrier in walk.carried.items() if phase.loop.var not in always
    }
    sometimes = {phase.loop.var for phase in walk.sometimes}
    return BarrierPlacement(always, sometimes - always, carried)
