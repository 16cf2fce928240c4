"""Barrier placement: the barriers that a team needs between the parallel regions of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.dependence import Copies, earlier, find_conflict
from ragged.analysis.first_iterations import meet_in_first_iterations
from ragged.analysis.parallel_regions import ParallelRegion
from ragged.ir.expr import Binary, Buffer, Const, Expr, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.sites import Branch, Site
from ragged.ir.stmt import Alloc, Barrier, For, If, Let
from ragged.ir.walk import children


@dataclass(frozen=True, slots=True)
class _Pending:
    """A region that has run since the last barrier.

    The statement that follows is in the same iteration of the outermost `common` loops, and in a later iteration of
    `carrier`, the next loop, if there is one. With `synchronized`, a barrier came in between in every case in which
    rows are distributed.
    """

    region: ParallelRegion
    common: int
    carrier: Var | None = None
    synchronized: bool = False

    @property
    def depth(self) -> int:
        """The depth at which a barrier separates the region from the statement that follows."""
        return self.common if self.carrier is None else self.common + 1


@dataclass
class _Walk:
    """Walks a stage in execution order; `needed` collects the depth of the barrier that each region needs.

    A loop's body is walked twice, and the deepest barrier is kept: it runs most often. Options are as in
    `place_barriers`. `conditional` are the regions that need a barrier only where rows are distributed, `carried` those
    that need it too where rows were distributed in the previous iteration of a loop around. `edges` is the dependence
    graph: whether a region depends on a pending one, each pair asked about once however often it is walked by.
    """

    program: Program
    regions: dict[Var, ParallelRegion]
    same_extent: bool = False
    interchanged: bool = False
    replicated: frozenset[Buffer] = frozenset()
    needed: dict[ParallelRegion, int] = field(default_factory=dict)
    conditional: set[ParallelRegion] = field(default_factory=set)
    carried: dict[ParallelRegion, Var] = field(default_factory=dict)
    edges: dict[tuple[ParallelRegion, _Pending, bool], bool] = field(default_factory=dict)

    def visit(self, site: Site, pending: tuple[_Pending, ...]) -> tuple[_Pending, ...]:
        """Return the pending regions after the statement at `site`, given those before it."""
        match site.stmt:
            case For(var=var) if var in self.regions:
                return self._region(self.regions[var], pending)
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

    def _region(self, region: ParallelRegion, pending: tuple[_Pending, ...]) -> tuple[_Pending, ...]:
        needed = [each.depth for each in pending if self._depends(region, each)]
        if needed:
            depth = max(needed)  # one barrier after all of them, in as few loops as possible
            self.needed[region] = max(depth, self.needed.get(region, 0))
            pending = tuple(each for each in pending if each.depth > depth)
        by_rows = [each for each in pending if self._depends_by_rows(region, each)]
        if by_rows:
            self.conditional.add(region)
            carrier = next((each.carrier for each in by_rows if each.carrier is not None), None)
            if carrier is not None:
                self.carried[region] = carrier
            pending = tuple(
                replace(each, synchronized=True)
                if each.region.is_adjacent(region) and each.carrier in (None, carrier)
                else each
                for each in pending
            )
        return (*pending, _Pending(region, region.depth))

    def _depends_by_rows(self, region: ParallelRegion, pending: _Pending) -> bool:
        """Return whether a region depends on another worker's part of a pending one only where rows are distributed."""
        return (
            not pending.synchronized
            and self._may_interchange(region, pending)
            and self._same_mapping(region, pending)
            and self._depends(region, pending, by_rows=True)
        )

    def _loop(self, site: Site, loop: For, pending: tuple[_Pending, ...]) -> tuple[_Pending, ...]:
        body, depth = Site(site.stage, loop.body, (*site.around, loop)), len(site.loops)
        once = self.visit(body, pending)
        carried = tuple(
            _Pending(each.region, depth, loop.var)
            for each in once
            if any(outer is loop for outer in each.region.site.loops)
        )
        again = self.visit(body, _union(pending, carried))
        ended = tuple(
            replace(each, common=depth, carrier=None) if each.common >= depth else each for each in again
        )
        return _union(pending, ended)  # the loop may run zero times

    def _same_mapping(self, region: ParallelRegion, pending: _Pending) -> bool:
        """Return whether one worker has iteration `i` of both regions, unless rows are distributed.

        The distributed loop may differ between iterations of the loop around the regions. Regions that run in every
        iteration allow a barrier after one in which rows were distributed.
        """
        one, other = pending.region, region
        same = isinstance(one.loop.extent, Const) and one.loop.extent == other.loop.extent
        if self._may_interchange(region, pending):
            innermost = [None, *(loop.var for loop in other.site.loops)][-1]
            each_time = pending.carrier is innermost and not other.site.conditions
            same &= one.is_adjacent(other) and (pending.carrier is None or each_time)
        return self.same_extent and same

    def _may_interchange(self, region: ParallelRegion, pending: _Pending) -> bool:
        return self.interchanged and (region.rows is not None or pending.region.rows is not None)

    def _depends(self, region: ParallelRegion, pending: _Pending, *, by_rows: bool = False) -> bool:
        """Return whether a region depends on what another worker did in a pending one."""
        edge = region, pending, by_rows
        if edge not in self.edges:
            self.edges[edge] = self._find_dependence(*edge)
        return self.edges[edge]

    def _find_dependence(self, region: ParallelRegion, pending: _Pending, by_rows: bool) -> bool:
        one, other, same = pending.region.loop, region.loop, self._same_mapping(region, pending)
        if by_rows:
            rows, others = pending.region.rows, region.rows
            same = rows is not None and others is not None and rows.extent == others.extent
            same &= pending.carrier is None
            one, other = rows or one, others or other

        def relation(first: Copies, second: Copies) -> tuple[Expr, ...]:
            other_worker = (Binary(BinaryOp.NE, first[one.var], second[other.var]),) if same else ()
            carrier = pending.carrier
            return (*other_worker, *(() if carrier is None else (earlier(first, second, carrier),)))

        def about(buffer: Buffer) -> bool:
            return buffer not in self.replicated

        inside = pending.region.inside, region.inside
        if not same and pending.carrier is None and meet_in_first_iterations(*inside, pending.common, about):
            return True
        return find_conflict(self.program, *inside, pending.common, relation, about=about) is not None


def _union(a: tuple[_Pending, ...], b: tuple[_Pending, ...]) -> tuple[_Pending, ...]:
    return tuple(dict.fromkeys((*a, *b)))


@dataclass(frozen=True, slots=True)
class BarrierPlacement:
    """The loops that need a barrier before them: `always`, or only where rows are distributed (`interchanged`).

    `carried` maps a loop to the loop around it, if distributed rows in its previous iteration require the barrier too.
    """

    always: set[Var]
    interchanged: set[Var]
    carried: Mapping[Var, Var]


def place_barriers(
    program: Program,
    around: Site,
    regions: Sequence[ParallelRegion],
    *,
    same_extent: bool = False,
    interchanged: bool = False,
    replicated: frozenset[Buffer] = frozenset(),
) -> BarrierPlacement:
    """Return the loops that need a barrier before them, because a region in them may depend on an earlier one.

    The barrier stands directly in the loop that carries the dependence, if one does (CORTEX, appendix A.4), and not in
    the loops inside that one. A dependence that is not disproven counts. A barrier that the program has already counts
    as one.

    Args:
        program: the program.
        around: the statement that workers run.
        regions: its parallel regions.
        same_extent: regions of equal constant extent are distributed alike: one worker has iteration `i` of all.
        interchanged: regions that have rows are distributed by these where there are enough of them.
        replicated: buffers of which each worker has a copy.
    """
    walk = _Walk(
        program, {region.loop.var: region for region in regions}, same_extent, interchanged, replicated
    )
    walk.visit(around, ())
    always = {(*region.site.loops, region.loop)[depth].var for region, depth in walk.needed.items()}
    carried = {
        region.loop.var: carrier for region, carrier in walk.carried.items() if region.loop.var not in always
    }
    conditional = {region.loop.var for region in walk.conditional}
    return BarrierPlacement(always, conditional - always, carried)
