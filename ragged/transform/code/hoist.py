"""hoist: work that does not depend on the batch, or on the kernel, is done in an earlier stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ragged.analysis.access_range import is_covered
from ragged.analysis.accesses import UseKind, accesses, inside, uses_in
from ragged.analysis.buffers import Exchange, Pruner, appended, check_alone
from ragged.analysis.obligations import IndexObligation, element, index_obligations
from ragged.arith.bindings import bindings
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Call, Const, Expr, Function, Load, Ref, Role, Scope, Source, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Branch, Site, held, sites_in
from ragged.ir.stmt import Alloc, Barrier, Block, Check, For, Let, Reduce, Stmt, Store
from ragged.ir.walk import statements, subexpressions, written
from ragged.prove import Unproven, prover_of
from ragged.transform.locate import loop_site

_READABLE = {
    StageKind.BIND: (Role.PARAMETER, Role.BOUND),
    StageKind.PRELUDE: (Role.PARAMETER, Role.BOUND, Role.PAYLOAD),
}
_ROLE = {StageKind.BIND: Role.BOUND, StageKind.PRELUDE: Role.WORKSPACE}
_HOLDS = {
    StageKind.BIND: "parameters, tables of them, and its own loops",
    StageKind.PRELUDE: "parameters, payloads, what describes the structures, and its own loops",
}
"""What a nest in a stage may depend on."""


def hoist(program: Program, loop: Var, stage: StageKind) -> Rewritten:
    """Move a nest to the end of an earlier stage; what it fills lives on to where it is read.

    before::

        UV: workspace(float32[16, 16])

        with kernel:
            for i in serial(16):
                for j in serial(16):
                    UV[i, j] = U[i, j] + V[i, j]
            for n in serial(count):
                ...

    after `hoist(program, i, StageKind.BIND)`::

        UV: bound(float32[16, 16])

        with bind:
            for i in serial(16):
                for j in serial(16):
                    UV[i, j] = U[i, j] + V[i, j]

        with kernel:
            for n in serial(count):
                ...

    In the bind stage a nest depends on parameters alone, and runs once for a compiled function; in the prelude it may
    depend on the structures and payloads of a batch. Loops around the nest, which ran it again for the same result, no
    longer do.

    Raises:
        ScheduleError: there is no such loop, or it is in that stage or an earlier one already; the nest depends on
            something that the stage does not know; it writes what lives longer, or what others write; it goes on
            from what an earlier run of it left; it could fail where it would not have run.
    """
    place = loop_site(program, loop, "hoist")
    _check_stage(place, loop, stage)
    nest = _Nest(program, place, loop, stage)
    filled = written(place.stmt) - nest.local
    nest.check_depends()
    for buffer in sorted(filled, key=lambda buffer: buffer.name):
        nest.check_filled(buffer)
    nest.check_bounds()
    moved = {
        b: replace(b, role=_ROLE[stage], scope=Scope.GLOBAL) for b in filled if b.role is not _ROLE[stage]
    }
    return _moved(program, place.stmt, loop, moved, stage)


def _check_stage(place: Site, loop: Var, stage: StageKind) -> None:
    order = list(StageKind)
    if order.index(place.stage.kind) <= order.index(stage):
        raise ScheduleError(
            f"hoist: cannot move loop '{loop.name}' to the {stage.value} stage",
            because=f"it is in the {place.stage.kind.value} stage, which does not come after it",
            fix="name a loop of a later stage",
        )


@dataclass(frozen=True, slots=True)
class _Nest:
    """The nest that is to move."""

    program: Program
    place: Site
    loop: Var
    stage: StageKind

    @property
    def local(self) -> set[Buffer]:
        """The buffers that live in the nest alone."""
        return {stmt.buffer for stmt in statements(self.place.stmt) if isinstance(stmt, Alloc)}

    def refusal(self, because: str, *, example: str | None = None, fix: str | None = None) -> ScheduleError:
        what = f"hoist: cannot move loop '{self.loop.name}' to the {self.stage.value} stage"
        return ScheduleError(what, because=because, example=example, fix=fix)

    def check_depends(self) -> None:
        """Refuse what the stage does not know."""
        bound = {stmt.var for stmt in statements(self.place.stmt) if isinstance(stmt, For | Let)}
        own = self.local | written(self.place.stmt)
        for what in self._unknown(bound, own):
            raise self.refusal(f"it depends on {what}; that stage knows {_HOLDS[self.stage]}")
        for stmt in statements(self.place.stmt):
            if isinstance(stmt, Barrier | Check):
                kind = type(stmt).__name__.lower()
                raise self.refusal(
                    f"there is a {kind} in it, which speaks of the {self.place.stage.kind.value}"
                )

    def _unknown(self, bound: set[Var], own: set[Buffer]) -> Iterator[str]:
        for part in self._parts():
            match part:
                case Ref(var=var) if var not in bound:
                    yield f"'{var.name}', which is bound outside it"
                case Load(buffer=buffer) if buffer not in own and buffer.role not in _READABLE[self.stage]:
                    yield f"'{buffer.name}', whose role is '{buffer.role.value}'"
                case Call(function=function):
                    yield from self._unknown_functions(function)
                case _:
                    pass

    def _unknown_functions(self, function: Function) -> Iterator[str]:
        if function.source is Source.PRELUDE or (self.stage is StageKind.BIND and function.body is None):
            yield f"'{function.name}', which is known at the call"
        elif function.body is not None:
            for part in subexpressions(function.body):
                if isinstance(part, Call):
                    yield from self._unknown_functions(part.function)

    def _parts(self) -> Iterator[Expr]:
        for stmt in statements(self.place.stmt):
            for expr in held(stmt):
                yield from subexpressions(expr)

    def check_filled(self, buffer: Buffer) -> None:
        """Refuse a buffer that does not stay as this nest leaves it."""
        if buffer.role not in (Role.WORKSPACE, Role.LOCAL):
            raise self.refusal(
                f"it writes '{buffer.name}', which lives longer than the call or is the caller's"
            )
        check_alone(self.program, buffer, "hoist")
        if self.stage is StageKind.BIND and not all(isinstance(e, Const) for e in buffer.shape):
            raise self.refusal(f"the shape of '{buffer.name}' is not known when parameters are bound")
        parts = (part for extent in buffer.shape for part in subexpressions(extent))
        if any(isinstance(part, Ref | Load) for part in parts):
            raise self.refusal(
                f"the shape of '{buffer.name}' is not known before the {self.place.stage.kind.value}"
            )
        found, known = accesses(self.program, buffer), bindings(self.program)
        mine = uses_in(inside(self.place), buffer)
        if sum(use.writes for use in found) > sum(use.writes for use in mine):
            raise self.refusal(f"'{buffer.name}' is written elsewhere too")
        stores = [use for use in mine if use.kind is UseKind.STORE]
        for use in mine if self.place.loops else ():  # where it runs once, there was nothing before
            if use.kind is not UseKind.STORE and not any(
                is_covered(self.program, known, s, use) for s in stores
            ):
                raise self.refusal(f"it goes on from what an earlier run of it left in '{buffer.name}'")

    def check_bounds(self) -> None:
        """Refuse an access that may fail, if the nest may not have run at all."""
        if not any(isinstance(outer, For | Branch) for outer in self.place.around):
            return
        for site in sites_in(Site(self.place.stage, self.place.stmt)):
            for access in _accesses(site):
                loops = tuple((loop.var, site.expand(loop.extent)) for loop in site.loops)
                conditions = tuple(map(site.expand, site.conditions))
                answer = prover_of(self.program).prove(access.condition, loops=loops, conditions=conditions)
                if isinstance(answer, Unproven):
                    raise self.refusal(
                        f"it may reach outside '{access.what}', and may not have run where it stands",
                        example=answer.example,
                    )


def _accesses(site: Site) -> Iterator[IndexObligation]:
    """Yield what has to hold for the statement at `site` not to fail; lets are seen through."""
    for expr in held(site.stmt):
        yield from index_obligations(site.expand(expr))
    match site.stmt:
        case Store(buffer=buffer, indices=indices) | Reduce(buffer=buffer, indices=indices):
            yield from element(buffer.name, tuple(map(site.expand, indices)), buffer.shape, None)
        case _:
            pass


@dataclass
class _Take(Pruner):
    """Takes out a loop, and the allocations of what it fills."""

    loop: Var = field(kw_only=True)
    filled: Iterable[Buffer] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case For(var=var) if var is self.loop:
                return Block()
            case Alloc(buffer=buffer, body=body) if buffer in self.filled:
                return self.stmt(body)
            case _:
                return super().stmt(stmt)


@dataclass
class _Alone(Rewriter):
    """Leaves reductions the axes that are in `nest`: loops around it ran it again from the start."""

    nest: Stmt = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        new = super().stmt(stmt)
        if not isinstance(new, Reduce):
            return new
        inner = {loop.var for loop in statements(self.nest) if isinstance(loop, For)}
        return replace(new, axes=tuple(axis for axis in new.axes if axis in inner))


def _moved(
    program: Program, nest: Stmt, loop: Var, filled: dict[Buffer, Buffer], stage: StageKind
) -> Rewritten:
    taken = _Take(loop=loop, filled=set(filled))
    rest = taken.program(program).program
    buffers = tuple(rest.buffers) + tuple(b for b in filled if b.role is Role.LOCAL)
    with_nest = appended(replace(rest, buffers=buffers), stage, _Alone(nest=nest).stmt(nest))
    exchange = Exchange(buffers=filled)
    renamed = tuple(filled.get(buffer, buffer) for buffer in with_nest.buffers)
    stages = tuple(replace(each, body=exchange.stmt(each.body)) for each in with_nest.stages)
    return exchange.finish(program, replace(with_nest, buffers=renamed, stages=stages))
