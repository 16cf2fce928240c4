"""Loops over what data says to be in parts, of which each worker can have one: nothing in a part needs another one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations_with_replacement

from ragged.errors import ScheduleError
from ragged.ir.analysis import Site
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Function, Ref, Var, add, sub, within
from ragged.ir.facts import Parted, PrefixSum
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import For
from ragged.ir.walk import read, subexpressions, written
from ragged.prove import Proof, prover_of
from ragged.schedule.dependence import Copies, find_conflict
from ragged.schedule.fold import floordiv, times
from ragged.schedule.linear import Linear, linear
from ragged.schedule.own import Own
from ragged.schedule.phases import InParts, Phase


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a loop over places of a range, or over what belongs to them by `via`, is cut into parts.

    `index` is the range. So many iterations one after another are `each` place.
    """

    fact: Parted
    index: Expr
    via: Function | None = None
    each: int = 1

    def first(self, part: Expr) -> Expr:
        """Return the iteration that a part begins with."""
        begin, here = Call(self.fact.begin, (self.index,)), Call(self.fact.cut, (self.index, part))
        if self.via is not None:
            begin, here = Call(self.via, (begin,)), Call(self.via, (here,))
        return times(sub(here, begin), Const(self.each))

    def part(self, iteration: Expr) -> tuple[Expr, tuple[Expr, ...]]:
        """Return the part of an iteration, and what is so of the variables in it: there are such."""
        begin, length = (Call(each, (self.index,)) for each in (self.fact.begin, self.fact.length))
        iteration = floordiv(iteration, self.each)
        if self.via is None:
            return Call(self.fact.part, (add(begin, iteration),)), ()
        place = Var("n")
        first, after = Call(self.via, (Ref(place),)), Call(self.via, (add(Ref(place), 1),))
        own = within(add(Call(self.via, (begin,)), iteration), first, after)
        return Call(self.fact.part, (Ref(place),)), (within(Ref(place), begin, add(begin, length)), own)

    def of(self, values: Mapping[Var, Expr]) -> Cut:
        """Return the cut where variables are something."""
        return replace(self, index=substitute(self.index, values))


def cut_of(program: Program, extent: Expr) -> Cut | None:
    """Return where a loop of this extent is cut, if it is as long as a range that has parts, or as what is of it."""
    fact = _parted(program)
    if fact is None:
        return None
    indices = {
        part.args[0]
        for part in subexpressions(extent)
        if isinstance(part, Call) and part.function in (fact.begin, fact.length)
    }
    for index in indices:
        for via in (None, *_belonging(program, fact)):
            each = _times(linear(extent), linear(_whole(fact, index, via)))
            if each is not None:
                return Cut(fact, index, via, each)
    return None


def _parted(program: Program) -> Parted | None:
    """Return what says which parts there are: the first fact of those that do."""
    return next((fact for fact in program.facts if isinstance(fact, Parted)), None)


def _times(extent: Linear, whole: Linear) -> int | None:
    """Return how many times a sum another one is, if it is some times as much."""
    term = next(iter(whole.terms))
    each, rest = divmod(extent.terms.get(term, 0), whole.terms[term])
    return each if each > 0 and not rest and Linear().plus(whole, each) == extent else None


def _whole(fact: Parted, index: Expr, via: Function | None) -> Expr:
    begin, length = Call(fact.begin, (index,)), Call(fact.length, (index,))
    return length if via is None else sub(Call(via, (add(begin, length),)), Call(via, (begin,)))


def _belonging(program: Program, fact: Parted) -> list[Function]:
    return [
        each.offset for each in program.facts if isinstance(each, PrefixSum) and each.offset is not fact.begin
    ]


def parts_of(program: Program) -> Expr | None:
    """Return how many parts there are, where a program's data has some."""
    fact = _parted(program)
    return None if fact is None else fact.parts


@dataclass(frozen=True, slots=True)
class Parts(InParts):
    """The phases that are shared out by part where there are as many parts as workers, each with its loop and its cut.

    The cuts are told where the phase stands: lets around it are no longer in them.
    """

    cuts: Mapping[Phase, tuple[For, Cut]] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program, phases: Sequence[Phase], own: Own, refusal: str, *, crossed: bool) -> Parts:
        """Return the phases that can be in parts.

        Raises:
            ScheduleError: there is none, or it is not proven that a worker who has his part alone of what he makes for
                himself needs no more of it.
        """
        cuts: dict[Phase, tuple[For, Cut]] = {}
        for phase in phases:
            loop = (phase.rows if crossed and phase not in own.phases else None) or phase.loop
            cut = cut_of(program, phase.site.expand(loop.extent))
            if cut is not None:
                cuts[phase] = loop, cut
        found = cls(cuts)
        if not cuts:
            raise ScheduleError(
                refusal,
                because="no parallel loop is over what has parts",
                fix="leave `apart` out, or state what is in which part by a fact, `Parted`",
            )
        for phase, (loop, cut) in cuts.items():
            _check_cut(program, phase, loop, cut, refusal)
        for phase in own.phases:
            if phase in cuts:
                found.check_alone(program, phases, written(phase.loop), refusal)
        return found

    def among(self, phases: Sequence[Phase]) -> Parts:
        """Return the same of another program that has these phases, with loops of the same variables."""
        new = {phase.loop.var: phase for phase in phases}
        cuts: dict[Phase, tuple[For, Cut]] = {}
        for phase, (loop, cut) in self.cuts.items():
            here = new[phase.loop.var]
            cuts[here] = (here.loop if loop is phase.loop else here.rows or here.loop), cut
        return Parts(cuts)

    def __contains__(self, phase: Phase) -> bool:
        return phase in self.cuts

    def alone(self, phases: Sequence[Phase], rooms: Iterable[Buffer]) -> Iterator[Buffer]:
        """Yield those of the rooms of shares of rows that are parts' own: all who use them are in parts."""
        for room in rooms:
            if all(phase in self for phase in phases if room in read(phase.loop) | written(phase.loop)):
                yield room

    def elsewhere(self, one: Phase, other: Phase, first: Copies, second: Copies) -> tuple[Expr, ...]:
        """Return that an iteration of one phase and one of another are of two parts."""
        here, own = self._part(one, first)
        there, others = self._part(other, second)
        return (*own, *others, Binary(BinaryOp.NE, here, there))

    def _part(self, phase: Phase, copies: Copies) -> tuple[Expr, tuple[Expr, ...]]:
        loop, cut = self.cuts[phase]
        return cut.of(copies).part(copies[loop.var])

    def check_alone(
        self, program: Program, phases: Sequence[Phase], buffers: Collection[Buffer], refusal: str
    ) -> None:
        """Refuse unless all who use `buffers` are in parts, and read what was written in their own."""
        users = [
            phase for phase in phases if not (read(phase.loop) | written(phase.loop)).isdisjoint(buffers)
        ]
        for phase in users:
            if phase not in self:
                raise ScheduleError(
                    refusal,
                    because=f"loop '{phase.loop.var.name}' uses what each part has for itself, and is in no parts",
                )
        for one, other in combinations_with_replacement(users, 2):
            conflict = find_conflict(
                program,
                one.inside,
                other.inside,
                0,
                partial(self.elsewhere, one, other),
                about=buffers.__contains__,
            )
            if conflict is not None:
                raise ScheduleError(refusal, because=f"of two parts, {conflict}", example=conflict.example)


def _check_cut(program: Program, phase: Phase, loop: For, cut: Cut, refusal: str) -> None:
    """Refuse unless the iterations of a part are those that the fact says."""
    part = Var("p")
    mine, holds = cut.part(Ref(loop.var))
    first, after = cut.first(Ref(part)), cut.first(add(Ref(part), 1))
    inside = within(Ref(loop.var), first, after)
    around = tuple(
        (outer.var, Site(phase.site.stage, outer, phase.site.around).expand(outer.extent))
        for outer in phase.site.loops
    )
    answer = prover_of(program).prove(
        Binary(BinaryOp.EQ, mine, Ref(part)),
        loops=(*around, (loop.var, phase.site.expand(loop.extent)), (part, cut.fact.parts)),
        conditions=(*holds, inside),
    )
    if not isinstance(answer, Proof):
        raise ScheduleError(
            refusal,
            because=f"iterations of loop '{loop.var.name}' are not proven to be of the part that has them",
        )
