"""Phases that each worker of a team runs for himself, and the copies that he has of what they write."""

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
    """The phases of one's own, and the buffers of which each worker has a copy: nobody else writes them.

    Of the phases in `by_rows` a worker may leave out the iterations that are others' rows.
    """

    phases: tuple[ParallelRegion, ...] = ()
    buffers: frozenset[Buffer] = frozenset()
    by_rows: frozenset[Var] = frozenset()

    @classmethod
    def of(
        cls,
        program: Program,
        phases: Sequence[ParallelRegion],
        loops: Iterable[Var],
        refusal: str,
        *,
        crossed: bool,
    ) -> ReplicatedLoops:
        """Return what each worker does for himself: the phases over `loops`.

        Which of them are by rows is asked where rows may be shared out: `crossed` is as in `barriers_before`.

        Raises:
            ScheduleError: a loop is none of the phases; or what it writes is no workspace, is written by others too,
                or is read elsewhere than after it in phases that run as often.
        """
        own = tuple(_phase(phases, loop, refusal) for loop in loops)
        buffers = frozenset(buffer for phase in own for buffer in written(phase.loop))
        for phase in own:
            _check(program, phases, phase, refusal)
        by_rows: set[Var] = set()
        for phase in sorted(
            own if crossed else (), key=phases.index, reverse=True
        ):  # first who reads what others of them write
            readers = {other.loop.var for other in own if other is not phase} - by_rows
            if _by_rows(program, phases, phase, readers):
                by_rows.add(phase.loop.var)
        return cls(own, buffers, frozenset(by_rows))

    def among(self, phases: Sequence[ParallelRegion]) -> ReplicatedLoops:
        """Return the same of another program that has these phases, with loops of the same variables."""
        loops = {phase.loop.var for phase in self.phases}
        return replace(self, phases=tuple(phase for phase in phases if phase.loop.var in loops))

    def copies(self, program: Program, worker: Var, workers: Expr) -> Program:
        """Return a program whose kernel's team runs it with copies: one dimension more, the worker's, comes first."""
        bigger = {old: old.stacked(workers) for old in self.buffers}
        stages = SelectCopy(bigger=bigger, copy=worker).program(program).program.stages
        return replace(
            program, stages=stages, buffers=tuple(bigger.get(each, each) for each in program.buffers)
        )


def _phase(phases: Sequence[ParallelRegion], loop: Var, refusal: str) -> ParallelRegion:
    for phase in phases:
        if phase.loop.var is loop:
            return phase
    raise ScheduleError(
        refusal, because=f"'{loop.name}' is no outermost parallel loop of it: nobody can own it"
    )


def _check(program: Program, phases: Sequence[ParallelRegion], own: ParallelRegion, refusal: str) -> None:
    what = f"each worker would have his own of what loop '{own.loop.var.name}' writes"
    for buffer in written(own.loop):
        if buffer.role is not Role.WORKSPACE:
            raise ScheduleError(refusal, because=f"{what}, and '{buffer.name}' is no workspace")
        if any(each.aliases is not None and buffer in (each, each.aliases) for each in program.buffers):
            raise ScheduleError(refusal, because=f"{what}, and '{buffer.name}' shares its memory")
        after = phases[phases.index(own) + 1 :]
        others = (phase for phase in phases if phase is not own)
        users = [phase for phase in others if buffer in read(phase.loop) | written(phase.loop)]
        late = all(phase in after and phase.is_beside(own) for phase in users)
        stages = (stage.body for stage in program.stages if stage.kind is not StageKind.KERNEL)
        elsewhere = any(buffer in read(body) | written(body) for body in stages)
        if not late or elsewhere or any(buffer in written(phase.loop) for phase in users):
            raise ScheduleError(
                refusal, because=f"{what}, and '{buffer.name}' is used before it or elsewhere, too"
            )


def _by_rows(
    program: Program, phases: Sequence[ParallelRegion], own: ParallelRegion, whole: set[Var]
) -> bool:
    """Return whether who has some iterations of all phases alike needs those alone of a phase of his own.

    He has all iterations of the loops in `whole`.
    """
    buffers = written(own.loop)
    for phase in phases:
        if not buffers & read(phase.loop):
            continue
        if phase.loop.var in whole:
            return False
        rows = phase.rows or phase.loop
        if rows.extent != own.loop.extent or leaves_row(program, buffers, (own, own.loop), (phase, rows)):
            return False
    return True


def leaves_row(
    program: Program,
    buffers: Collection[Buffer],
    one: tuple[ParallelRegion, For],
    other: tuple[ParallelRegion, For],
) -> bool:
    """Return whether two phases may touch an element of `buffers` in different rows, or in different rounds.

    Both come with their loop over rows. A round is an iteration of the loops around the first phase.
    """
    (phase, rows), (second, others) = one, other
    relations: list[tuple[int, Relation]] = [
        (depth, _Earlier(loop.var)) for depth, loop in enumerate(phase.site.loops)
    ]
    relations.append((phase.depth, _OtherRow(rows.var, others.var)))
    return any(
        find_conflict(program, phase.inside, second.inside, common, relation, about=buffers.__contains__)
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
    """The relation of an iteration of one loop over rows to one of another loop that is another row."""

    here: Var
    there: Var

    def __call__(self, first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (Binary(BinaryOp.NE, first[self.here], second[self.there]),)


@dataclass
class SelectCopy(Rewriter):
    """Puts one copy in place of each buffer, of those that `bigger` holds in its first dimension: the `copy`-th."""

    bigger: Mapping[Buffer, Buffer] = field(kw_only=True)
    copy: Var = field(kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Return where the copy has an element of a buffer."""
        own, inner = super().access(buffer, indices)
        bigger = self.bigger.get(buffer)
        return (own, inner) if bigger is None else (bigger, (Ref(self.copy), *inner))
