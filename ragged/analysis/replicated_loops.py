"""Replicated loops: parallel loops that every worker runs in full, into its own copy of the buffers they write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.dependence import Copies, Relation, earlier, find_conflict
from ragged.analysis.parallel_regions import ParallelRegion
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Expr, Ref, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import For
from ragged.ir.walk import read, written


@dataclass(frozen=True, slots=True)
class ReplicatedLoops:
    """The parallel regions that every worker runs, and the buffers that they write: each worker has a copy.

    Where workers share rows, a worker runs only its own rows of the regions in `by_rows`.
    """

    regions: tuple[ParallelRegion, ...] = ()
    buffers: frozenset[Buffer] = frozenset()
    by_rows: frozenset[Var] = frozenset()

    @classmethod
    def of(
        cls,
        program: Program,
        regions: Sequence[ParallelRegion],
        loops: Iterable[Var],
        refusal: str,
        *,
        interchanged: bool,
    ) -> ReplicatedLoops:
        """Return the regions of `loops` as replicated ones; `interchanged` is as in `place_barriers`.

        Raises:
            ScheduleError: a loop is no outermost parallel loop; or a buffer that it writes is no workspace, is written
                by another loop too, or is read other than in later regions that run equally often.
        """
        replicated = tuple(_region(regions, loop, refusal) for loop in loops)
        buffers = frozenset(buffer for region in replicated for buffer in written(region.loop))
        for region in replicated:
            _check(program, regions, region, refusal)
        by_rows: set[Var] = set()
        # Consumers first: a producer is distributed by rows only if its replicated consumers are.
        for region in sorted(replicated if interchanged else (), key=regions.index, reverse=True):
            whole = {other.loop.var for other in replicated if other is not region} - by_rows
            if _needs_only_its_rows(program, regions, region, whole):
                by_rows.add(region.loop.var)
        return cls(replicated, buffers, frozenset(by_rows))

    def with_copies(self, program: Program, worker: Var, num_workers: Expr) -> Program:
        """Return a program with a copy of each replicated buffer for each worker: a new first dimension."""
        stacked = {old: old.stacked(num_workers) for old in self.buffers}
        stages = _SelectCopy(stacked=stacked, index=worker).program(program).program.stages
        return replace(
            program, stages=stages, buffers=tuple(stacked.get(each, each) for each in program.buffers)
        )


def _region(regions: Sequence[ParallelRegion], loop: Var, refusal: str) -> ParallelRegion:
    for region in regions:
        if region.loop.var is loop:
            return region
    raise ScheduleError(
        refusal, because=f"'{loop.name}' is no outermost parallel loop, and only these can be replicated"
    )


def _check(program: Program, regions: Sequence[ParallelRegion], region: ParallelRegion, refusal: str) -> None:
    what = f"each worker would have a copy of what loop '{region.loop.var.name}' writes"
    for buffer in written(region.loop):
        if buffer.role is not Role.WORKSPACE:
            raise ScheduleError(refusal, because=f"{what}, and '{buffer.name}' is no workspace")
        if any(each.aliases is not None and buffer in (each, each.aliases) for each in program.buffers):
            raise ScheduleError(refusal, because=f"{what}, and '{buffer.name}' shares its memory")
        after = regions[regions.index(region) + 1 :]
        others = (other for other in regions if other is not region)
        users = [other for other in others if buffer in read(other.loop) | written(other.loop)]
        only_later = all(other in after and other.is_adjacent(region) for other in users)
        stages = (stage.body for stage in program.stages if stage.kind is not StageKind.KERNEL)
        elsewhere = any(buffer in read(body) | written(body) for body in stages)
        if not only_later or elsewhere or any(buffer in written(other.loop) for other in users):
            raise ScheduleError(
                refusal, because=f"{what}, and '{buffer.name}' is accessed before it or elsewhere, too"
            )


def _needs_only_its_rows(
    program: Program, regions: Sequence[ParallelRegion], replicated: ParallelRegion, whole: set[Var]
) -> bool:
    """Return whether a worker that has some rows of all regions reads only these rows of a replicated region.

    A worker has all iterations of the loops in `whole`.
    """
    buffers = written(replicated.loop)
    for region in regions:
        if not buffers & read(region.loop):
            continue
        if region.loop.var in whole:
            return False
        rows = region.rows or region.loop
        if rows.extent != replicated.loop.extent:
            return False
        if _leaves_row(program, buffers, (replicated, replicated.loop), (region, rows)):
            return False
    return True


def _leaves_row(
    program: Program,
    buffers: Collection[Buffer],
    one: tuple[ParallelRegion, For],
    other: tuple[ParallelRegion, For],
) -> bool:
    """Return whether two regions may touch an element of `buffers` in different rows or outer iterations.

    Each region comes with its loop over rows. The outer iterations are those of the loops around the first region.
    """
    (region, rows), (second, others) = one, other
    relations: list[tuple[int, Relation]] = [
        (depth, _Earlier(loop.var)) for depth, loop in enumerate(region.site.loops)
    ]
    relations.append((region.depth, _OtherRow(rows.var, others.var)))
    return any(
        find_conflict(program, region.inside, second.inside, common, relation, about=buffers.__contains__)
        for common, relation in relations
    )


@dataclass(frozen=True, slots=True)
class _Earlier:
    """The relation of an iteration of a loop to a later one."""

    loop: Var

    def __call__(self, first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (earlier(first, second, self.loop),)


@dataclass(frozen=True, slots=True)
class _OtherRow:
    """The relation of a row of one loop to a different row of another loop."""

    here: Var
    there: Var

    def __call__(self, first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (Binary(BinaryOp.NE, first[self.here], second[self.there]),)


@dataclass
class _SelectCopy(Rewriter):
    """Replaces each buffer by copy number `index` of it: `stacked` has the buffers with a first dimension of copies."""

    stacked: Mapping[Buffer, Buffer] = field(kw_only=True)
    index: Var = field(kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Return the element of the copy that stands for an element of a buffer."""
        same, inner = super().access(buffer, indices)
        stacked = self.stacked.get(buffer)
        return (same, inner) if stacked is None else (stacked, (Ref(self.index), *inner))
