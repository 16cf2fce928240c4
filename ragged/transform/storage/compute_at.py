"""compute_at: a nest that fills a temporary moves into the loop that reads it, as far as each iteration needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.analysis.access_range import is_covered, spans
from ragged.analysis.accesses import Access, UseKind, accesses, common_depth, inside, uses_in
from ragged.analysis.buffers import Pruner, check_alone
from ragged.analysis.dependence import Copies, find_conflict
from ragged.analysis.invariance import find_change
from ragged.analysis.regions import AT_ONCE, Home, Region, check_lanes, home_of
from ragged.analysis.staged_reads import Reading
from ragged.arith.affine import AffineForm
from ragged.arith.bindings import Bindings, bindings
from ragged.arith.fold import ZERO, FoldedSubstitution, plus
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Alloc, Block, For, Let, LoopKind, Stmt, Store, block
from ragged.ir.text.stmt_out import flat
from ragged.ir.walk import statements
from ragged.prove import Unproven, prover_of
from ragged.transform.locate import loop_site


def compute_at(program: Program, producer: Var, consumer: Var) -> Rewritten:
    """Move the nest at `producer` into the loop `consumer` after it: each iteration computes what it reads.

    before::

        for i in serial(256):
            s[i] = sigmoid(t[i])
        for k in serial(16):
            for l in serial(16):
                h[node, k * 16 + l] = s[k * 16 + l] * c[k * 16 + l]

    after `compute_at(program, i, k)`::

        for k in serial(16):
            for i in serial(16):
                s[k * 16 + i] = sigmoid(t[k * 16 + i])
            for l in serial(16):
                h[node, k * 16 + l] = s[k * 16 + l] * c[k * 16 + l]

    The nest is of loops directly inside each other around one store of a temporary, each of whose indices is one of
    them or none. Its loops and its statement keep their identities; a loop of which one iteration is left goes. What
    several iterations of the consumer read is computed in each of them. Every value is computed as before: all bits
    stay.

    Raises:
        ScheduleError: the loops do not stand in one place, the producer first; the nest is another one; something else
            uses the temporary; an iteration does not read one region of constant extents, or it may reach outside what
            the nest fills; what the values are made of may have changed; iterations that run at once would fill one
            element.
    """
    what = f"compute_at: cannot move loop '{producer.name}' into loop '{consumer.name}'"
    one, other = loop_site(program, producer, "compute_at"), loop_site(program, consumer, "compute_at")
    _check_places(what, program, one, other)
    nest = _nest(what, one)
    asked = _Asked(what, program, bindings(program), one, other, nest)
    asked.check_uses()
    reading = asked.reading()
    region = reading.region(reading.spans())
    moved = asked.moved(region, reading)
    first = next(part for part in flat(reading.home.stmt.body) if asked.reads_in(part))
    asked.check_unchanged(moved, first, reading.home)
    return _Move(producer=one.stmt, home=reading.home.stmt, first=first, nest=moved).program(program)


@dataclass(frozen=True, slots=True)
class _Nest:
    """Loops directly inside each other, and what stands in the innermost one: lets, and a store."""

    loops: tuple[For, ...]
    body: Stmt
    store: Store


def _check_places(what: str, program: Program, one: Site, other: Site) -> None:
    order = [site.stmt for site in sites(program) if isinstance(site.stmt, For)]
    beside = common_depth(one, other) == len(one.around) == len(other.around)
    places = [next(k for k, stmt in enumerate(order) if stmt is site.stmt) for site in (one, other)]
    if not beside or places[0] >= places[1] or one.stage.kind is not other.stage.kind:
        raise ScheduleError(
            what,
            because="they do not stand in one place, the one that moves before the other",
            fix="name loops that stand one after the other in the same loops, lets and conditions",
        )
    check_lanes(what, other)


def _nest(what: str, site: Site) -> _Nest:
    loops: list[For] = []
    body = site.stmt
    while isinstance(body, For):
        loops.append(body)
        body = body.body
    inner = list(statements(body))
    stores = [stmt for stmt in inner if isinstance(stmt, Store)]
    if len(stores) != 1 or any(not isinstance(stmt, Store | Let | Block) for stmt in inner):
        raise ScheduleError(
            what,
            because="it holds more than loops directly inside each other around one store",
            fix="fission it, and move what is elementwise",
        )
    if any(loop.kind in (LoopKind.TEAM, LoopKind.THREADS) for loop in loops):
        raise ScheduleError(what, because="its iterations are the workers of a team")
    return _Nest(tuple(loops), body, stores[0])


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for: the nest at `one` in the loop at `other`."""

    what: str
    program: Program
    known: Bindings
    one: Site
    other: Site
    nest: _Nest

    @property
    def buffer(self) -> Buffer:
        """The temporary that the nest fills."""
        return self.nest.store.buffer

    @property
    def store(self) -> Access:
        """The store, as one of the buffer's uses."""
        found = accesses(self.program, self.buffer)
        return next(use for use in found if use.writes and use.site.stmt is self.nest.store)

    def reads_in(self, part: Stmt) -> bool:
        """Return whether there is a read in a statement."""
        return bool(uses_in(Site(self.other.stage, part), self.buffer))

    def check_uses(self) -> None:
        """Refuse unless the buffer is the nest's own, and only the loop reads what the nest stored in it."""
        name = self.buffer.name
        if self.buffer.role not in (Role.WORKSPACE, Role.LOCAL):
            raise ScheduleError(self.what, because=f"'{name}' is no temporary: all of it has to be filled")
        check_alone(self.program, self.buffer, "compute_at")
        store, depth = self.store, len(self.other.around)
        for use in accesses(self.program, self.buffer):
            if use.site.stmt is self.nest.store and use.writes:
                continue
            at = expr_text(Load(self.buffer, use.indices))
            if len(use.site.around) <= depth or use.site.around[depth] is not self.other.stmt:
                raise ScheduleError(self.what, because=f"{at} is {use.kind.value} outside of that loop too")
            if use.writes or not is_covered(self.program, self.known, store, use):
                raise ScheduleError(
                    self.what, because=f"{at} is {use.kind.value} in it, and may not be what the nest stored"
                )

    def reading(self) -> Reading:
        """Return what the loop reads of the buffer."""
        found = uses_in(inside(self.other), self.buffer)
        if not found:
            raise ScheduleError(self.what, because=f"that loop does not read '{self.buffer.name}'")
        home = home_of(self.other, found)
        return Reading(self.what, self.program, self.buffer, self.known, found, home)

    def moved(self, region: Region, reading: Reading) -> Stmt:
        """Return the nest that fills the region."""
        values: dict[Var, Expr] = {}
        extents: dict[Var, Expr] = {}
        begins = reading.begins(region)
        reached = spans(self.store, len(self.one.around), self.known)
        assert reached is not None, "covered"
        for dimension, each in enumerate(reached):
            if not each.parts:
                continue
            (part,) = each.parts if len(each.parts) == 1 else (None,)
            if part is None or part.stride != 1:
                raise ScheduleError(
                    self.what,
                    because=f"more than one of its loops make an index of '{self.buffer.name}'",
                    fix="move it before it is split",
                )
            start = begins[dimension]
            if each.base != AffineForm():
                start = region.bases[dimension].plus(each.base, -1).expr
            self._check_reach(start, region.extents[dimension], part.extent, reading.home)
            values[part.var] = start
            if dimension in region.kept:
                values[part.var] = plus(start, Ref(part.var))
                extents[part.var] = Const(region.extents[dimension])
        for loop in self.nest.loops:
            if loop.var not in values:
                raise ScheduleError(self.what, because=f"no index depends on its loop '{loop.var.name}'")
        moved = FoldedSubstitution(values=values).stmt(self.nest.body)
        for loop in reversed([loop for loop in self.nest.loops if loop.var in extents]):
            moved = replace(loop, extent=extents[loop.var], body=moved)
        return moved

    def _check_reach(self, start: Expr, count: int, extent: Expr, home: Home) -> None:
        """Refuse unless the nest had the iterations from `start` to `start + count`."""
        site = Site(self.other.stage, self.other.stmt, home.around)
        low = Binary(BinaryOp.LE, ZERO, start)
        goal = Binary(BinaryOp.AND, low, Binary(BinaryOp.LE, plus(start, Const(count)), extent))
        loops = tuple((loop.var, self.known.extents[loop.var]) for loop in site.loops)
        conditions = tuple(map(site.expand, site.conditions))
        answer = prover_of(self.program).prove(site.expand(goal), loops=loops, conditions=conditions)
        if isinstance(answer, Unproven):
            raise ScheduleError(
                self.what,
                because="an iteration may read one region that is not all in what the nest fills",
                example=answer.example,
                fix="peel the iterations at the edge",
            )

    def check_unchanged(self, moved: Stmt, first: Stmt, home: Home) -> None:
        """Refuse if a value may be another where the nest goes, or two iterations at once would store it."""
        around = home.around
        body = moved
        while isinstance(body, For):
            around, body = (*around, body), body.body
        while isinstance(body, Let):
            around, body = (*around, body), body.body
        assert isinstance(body, Store)
        here = Site(self.other.stage, body, around)
        order = next(k for k, site in enumerate(sites(self.program)) if site.stmt is first)
        value = here.expand(body.value)
        change = find_change(self.program, self.store, Access(here, order, (), UseKind.READ), value)
        if change is not None:
            raise ScheduleError(self.what, because=change.because, example=change.example)
        loop = self.other.stmt
        assert isinstance(loop, For)
        if loop.kind in AT_ONCE:
            common = len(self.other.loops)

            def apart(one: Copies, two: Copies) -> tuple[Expr, ...]:
                return (Binary(BinaryOp.NE, one[loop.var], two[loop.var]),)

            found = find_conflict(self.program, [here], [here], common, apart)
            if found is not None:
                raise ScheduleError(
                    self.what, because=f"its iterations run at once, and {found}", example=found.example
                )


@dataclass
class _Move(Pruner):
    """Takes the producer out, and puts the nest before `first` in the home."""

    producer: Stmt = field(kw_only=True)
    home: Stmt = field(kw_only=True)
    first: Stmt = field(kw_only=True)
    nest: Stmt = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if stmt is self.producer:
            return Block()
        if stmt is self.home:
            assert isinstance(stmt, For | Let | Alloc)
            parts = [(self.nest, part) if part is self.first else (part,) for part in flat(stmt.body)]
            return replace(stmt, body=block(*(part for group in parts for part in group)))
        return super().stmt(stmt)
