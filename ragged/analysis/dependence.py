"""Whether statements may trade places: two accesses of one element, one of them a write, keep their order.

Everything is asked of the prover, with the facts of the program: `left(node)` is not in this batch because a fact
says so. What is not proven counts as a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragged.analysis.distinct_elements import elements_differ
from ragged.ir.expr import Binary, Buffer, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import substitute
from ragged.ir.sites import ElementAccess, Regions, Site, path_to, regions, regions_of
from ragged.ir.stmt import Alloc, Barrier, Check, For, Label, Reduce, Store
from ragged.prove import Proof, Prover, Unproven, prover_of
from ragged.prove.proven_goals import ProvenGoals

Copies = Mapping[Var, Expr]
"""The variables of the loops around a statement, and what they are in one of the two iterations."""
Relation = Callable[[Copies, Copies], tuple[Expr, ...]]
"""What holds between the iterations of two statements that are asked about."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements that may touch one element of `buffer` in iterations that would trade places.

    Without a buffer, one of them is a check or a barrier, which orders all that is around it.
    """

    first: Label | None
    second: Label | None
    buffer: Buffer | None
    example: str | None

    def __str__(self) -> str:
        labels = dict.fromkeys(label for label in (self.first, self.second) if label is not None)
        names = " and ".join(f"'{label.name}'" for label in labels) or "what stands around"
        if self.buffer is None:
            return f"{names} may not change places with anything: what comes after may rely on it"
        twice = "in both iterations " if len(labels) == 1 else ""
        return f"{names} may {twice}touch one element of '{self.buffer.name}'"


def find_conflict(
    program: Program,
    first: Iterable[Site],
    second: Iterable[Site],
    common: int,
    relation: Relation,
    *,
    reassociate: bool = False,
    about: Callable[[Buffer], bool] | None = None,
) -> Conflict | None:
    """Return a pair of accesses that may conflict, or None if it is proven that there is none.

    Each pair of a statement of `first` and one of `second` is looked at in two iterations that agree in the
    outermost `common` loops around both and for which `relation` holds: it is given what each variable of the loops
    around the one and the other statement is. With `reassociate`, updates of one accumulator by the same combiner may
    trade places, which changes rounding. Accesses of buffers that are not what it is `about` are left out.
    """
    prover, answered, proven_goals = prover_of(program), set[object](), ProvenGoals()
    mine, yours = _touching(first, about), _touching(second, about)
    partners = _Partners(yours)
    for one in mine:
        for place in partners.of(one):
            found = _between(prover, one, yours[place], common, relation, reassociate, answered, proven_goals)
            if found is not None:
                return found
    return None


@dataclass(frozen=True, slots=True)
class _Touching:
    """A statement and what it touches."""

    site: Site
    regions: Regions

    @property
    def orders(self) -> bool:
        """True if it orders all that is around it."""
        return isinstance(self.site.stmt, Check | Barrier)


def _touching(found: Iterable[Site], about: Callable[[Buffer], bool] | None = None) -> list[_Touching]:
    sites = tuple(found)
    touched = list(regions_of(sites))
    if about is not None:
        touched = [Regions(_about(about, each.reads), _about(about, each.writes)) for each in touched]
    return list(map(_Touching, sites, touched))


def _about(about: Callable[[Buffer], bool], accesses: tuple[ElementAccess, ...]) -> tuple[ElementAccess, ...]:
    return tuple(access for access in accesses if about(access.buffer))


class _Partners:
    """Which of some statements can conflict with another: by the memory that they touch, not each with each."""

    def __init__(self, others: Sequence[_Touching]) -> None:
        self._count = len(others)
        self._ordering = [place for place, other in enumerate(others) if other.orders]
        self._reading: dict[Buffer, list[int]] = {}
        self._writing: dict[Buffer, list[int]] = {}
        for place, other in enumerate(others):
            for accesses, known in (
                (other.regions.reads, self._reading),
                (other.regions.writes, self._writing),
            ):
                for access in accesses:
                    known.setdefault(storage(access.buffer), []).append(place)

    def of(self, one: _Touching) -> list[int]:
        """Return the places of the statements that touch what `one` does, one of the two writing; in order."""
        if one.orders:
            return list(range(self._count))
        found = set(self._ordering)
        for access in one.regions.writes:
            memory = storage(access.buffer)
            found.update(self._reading.get(memory, ()), self._writing.get(memory, ()))
        for access in one.regions.reads:
            found.update(self._writing.get(storage(access.buffer), ()))
        return sorted(found)


def earlier(first: Copies, second: Copies, var: Var) -> Expr:
    """Return that `var` is less in the first iteration than in the second."""
    return Binary(BinaryOp.LT, first[var], second[var])


def any_two(first: Copies, second: Copies) -> tuple[Expr, ...]:
    """Return what holds between an iteration of the one statement and one of the other: nothing."""
    return ()


def _between(
    prover: Prover,
    this: _Touching,
    that: _Touching,
    common: int,
    relation: Relation,
    reassociate: bool,
    answered: set[object],
    proven_goals: ProvenGoals,
) -> Conflict | None:
    """Return a conflict between two statements.

    `answered` are the pairs of accesses that are proven to be distinct, `proven_goals` what was proven of any.
    """
    one, mine, other, yours = this.site, this.regions, that.site, that.regions
    ordering = next((each for each in (this, that) if each.orders), None)
    if ordering is not None:
        return Conflict(_label(ordering.site), None, None, None)
    first, second = _copies(one, common, ""), _copies(other, common, "'")
    pairs = [(a, b) for a in mine.writes for b in (*yours.writes, *yours.reads)]
    pairs += [(a, b) for a in mine.reads for b in yours.writes]
    for a, b in pairs:
        if not _overlap(a.buffer, b.buffer) or _private(one, other, a.buffer, common):
            continue
        if reassociate and _same_reduction(one, other, a.buffer):
            continue
        question = (a, tuple(first), b, tuple(second))
        if question in answered:
            continue
        match _ask(
            prover, (one, a, first), (other, b, second), common, relation(first, second), proven_goals
        ):
            case Proof():
                answered.add(question)
            case Unproven(example=example):
                return Conflict(_label(one), _label(other), a.buffer, example or None)
    return None


def never_meet(
    program: Program, first: tuple[Site, ElementAccess], second: tuple[Site, ElementAccess], common: int
) -> bool:
    """Return whether two accesses are proven to touch no element alike, in whatever iterations.

    The outermost `common` loops around both are in one iteration.
    """
    (one, a), (other, b) = first, second
    here, there = _copies(one, common, ""), _copies(other, common, "'")
    return isinstance(_ask(prover_of(program), (one, a, here), (other, b, there), common, ()), Proof)


def _ask(
    prover: Prover,
    this: tuple[Site, ElementAccess, Copies],
    that: tuple[Site, ElementAccess, Copies],
    common: int,
    relation: tuple[Expr, ...],
    proven_goals: ProvenGoals | None = None,
) -> Proof | Unproven:
    """Ask whether two accesses, each in an iteration of its own, touch different elements where `relation` holds."""
    (one, a, first), (other, b, second) = this, that
    loops = (*_ranges(one, first, common), *_ranges(other, second, common), *_shared(one, common))
    conditions = (
        *(substitute(c, first) for c in a.conditions),
        *(substitute(c, second) for c in b.conditions),
    )
    indices = []  # of two names of one memory nothing is known
    if a.buffer is b.buffer:
        pairs = zip(a.indices, b.indices, strict=True)
        indices = [(substitute(mine, first), substitute(yours, second)) for mine, yours in pairs]
    goal = elements_differ(indices, relation, dict(loops), conditions)
    return prover.prove(goal, loops=loops, conditions=conditions, proven_goals=proven_goals)


def _copies(site: Site, common: int, mark: str) -> dict[Var, Expr]:
    """Return a variable of its own for each loop inside the common ones, and the common ones as they are."""
    return {
        loop.var: Ref(loop.var if depth < common else Var(f"{loop.var.name}{mark}", loop.var.dtype))
        for depth, loop in enumerate(site.loops)
    }


def _ranges(site: Site, copies: Copies, common: int) -> tuple[tuple[Var, Expr], ...]:
    found: list[tuple[Var, Expr]] = []
    for var, extent in path_to(site).ranges[common:]:
        copy = copies[var]
        if isinstance(copy, Ref):
            found.append((copy.var, substitute(extent, copies)))
    return tuple(found)


def _shared(site: Site, common: int) -> tuple[tuple[Var, Expr], ...]:
    return path_to(site).ranges[:common]


def _overlap(a: Buffer, b: Buffer) -> bool:
    return storage(a) is storage(b)


def storage(buffer: Buffer) -> Buffer:
    """Return the buffer that owns the memory of `buffer`: itself, or the one that it aliases."""
    return buffer if buffer.aliases is None else storage(buffer.aliases)


def _private(one: Site, other: Site, buffer: Buffer, common: int) -> bool:
    """True if each iteration of the loops inside the common ones has a buffer of its own."""
    for site in (one, other):
        depth = 0
        for outer in site.around:
            if isinstance(outer, For):
                depth += 1
            elif isinstance(outer, Alloc) and outer.buffer is buffer:
                return depth > common
    return False


def _same_reduction(one: Site, other: Site, buffer: Buffer) -> bool:
    """True if both update `buffer` alike and look at it in no other way."""
    match one.stmt, other.stmt:
        case Reduce(buffer=mine, combiner=combiner), Reduce(buffer=yours, combiner=also):
            alike = mine is yours is buffer and combiner is also
            return alike and not any(_looks_at(site, buffer) for site in (one, other))
        case _:
            return False


def _looks_at(site: Site, buffer: Buffer) -> bool:
    """True if what a reduction adds, where it adds it or what stands around reads `buffer`.

    What it starts from does not count: the accumulator's own contents, in whatever order it is updated.
    """
    assert isinstance(site.stmt, Reduce)
    started = replace(site, stmt=replace(site.stmt, init=Const(0)))
    reads = [read for read in regions(started).reads if _overlap(read.buffer, buffer)]
    return len(reads) > 1  # the update itself is one


def _label(site: Site) -> Label | None:
    return site.stmt.label if isinstance(site.stmt, Store | Reduce | Check | Barrier) else None
