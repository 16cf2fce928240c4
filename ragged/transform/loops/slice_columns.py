"""slice_columns: run a loop once for each slice of the loops inside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.dependence import never_meet, storage
from ragged.arith.fold import plus, times
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Load, Ref, Var
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import ElementAccess, Regions, Site, regions, sites_in
from ragged.ir.stmt import For, Leaf, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import children, held, loads
from ragged.transform.copy_stmts import Moved
from ragged.transform.locate import Replace, loop_site


def slice_columns(program: Program, loop: Var, columns: Sequence[Var], width: int) -> Rewritten:
    """Let a PARALLEL loop run once for each slice of `width` iterations of the loops `columns` inside it.

    before::

        for n in parallel(count):
            for i in serial(256):
                t[n, i] = x[n, i] + y[n, i]
            for i in serial(256):
                z[n, i] = tanh(t[n, i])

    after `slice_columns(program, n, (i, i), 64)`::

        for n_s in parallel(4):
            for n in parallel(count):
                for i_s in serial(64):
                    t[n, n_s * 64 + i_s] = x[n, n_s * 64 + i_s] + y[n, n_s * 64 + i_s]
                for i_s in serial(64):
                    z[n, n_s * 64 + i_s] = tanh(t[n, n_s * 64 + i_s])

    Slices are independent: what is written in the loop is written and read at the same place of the columns, or where
    no iteration of the loop writes, so that no slice touches what another one writes. A team that shares them out has a
    share of the columns of a matrix for each worker. The forwarding of the loop is (slices, the loop in a slice), that
    of a column the loop over those of a slice.

    Raises:
        ScheduleError: the loop is not PARALLEL; the columns are not loops inside it of one constant extent that `width`
            divides, or something with an effect stands in none of them, or in two; what is written in the loop is
            used at another column.
    """
    what = f"slice_columns: cannot slice what loop '{loop.name}' does"
    site = loop_site(program, loop, "slice_columns")
    outer = site.stmt
    assert isinstance(outer, For)
    if outer.kind is not LoopKind.PARALLEL:
        raise ScheduleError(what, because="its iterations are not independent", fix="parallel(loop) first")
    extent = _extent(outer, columns, width, what)
    _require_aligned(program, site, frozenset(columns), what)

    def change(found: For, owner: Rewriter) -> Stmt:
        slices, inner = owner.copied_loop(loop, "s"), Var(loop.name, loop.dtype)
        owner.loop_copies[loop].append(inner)
        cut = _SliceColumns(columns=frozenset(columns), width=width, slices=slices, owner=owner)
        body = Moved(values={loop: Ref(inner)}).stmt(cut.stmt(found.body))
        return For(slices, Const(extent // width), replace(found, var=inner, body=body), LoopKind.PARALLEL)

    return Replace(loop=loop, change=change).program(program)


def _extent(outer: For, columns: Sequence[Var], width: int, what: str) -> int:
    found = {inner.var: inner.extent for inner in _loops(outer.body)}
    extents = {found.get(column) for column in columns}
    extent = extents.pop() if len(extents) == 1 else None
    if not isinstance(extent, Const):
        raise ScheduleError(
            what, because="the columns are not loops inside it of one extent that is a number"
        )
    if width < 1 or int(extent.value) % width:
        raise ScheduleError(
            what,
            because=f"{extent.value} columns are not slices of {width}",
            fix="a width that divides them",
        )
    return int(extent.value)


def _loops(stmt: Stmt) -> Iterator[For]:
    if isinstance(stmt, For):
        yield stmt
    for inner in children(stmt):
        yield from _loops(inner)


def _require_aligned(program: Program, site: Site, columns: frozenset[Var], what: str) -> None:
    """Raise unless slices are independent.

    What is written inside is touched at the column of the loop that the statement stands in, or is an element that no
    iteration writes.
    """
    inside = [_Inner.of(inner, columns, what) for inner in sites_in(site) if isinstance(inner.stmt, Leaf)]
    writes: dict[Buffer, list[tuple[_Inner, ElementAccess]]] = {}
    for inner in inside:
        for access in inner.regions.writes:
            writes.setdefault(storage(access.buffer), []).append((inner, access))
    for memory, found in writes.items():
        buffer, own = _places(found, what)
        for inner in inside:
            for read in inner.regions.reads:
                if storage(read.buffer) is not memory:
                    continue
                if read.buffer is buffer and not own.isdisjoint(inner.places(read)):
                    continue
                depth = len(site.loops)
                if not all(never_meet(program, (inner.site, read), (o.site, w), depth) for o, w in found):
                    raise _not_own(read, what)
    for outer in sites_in(site):
        if children(outer.stmt):
            _require_fixed(outer.stmt, set(writes), what)


def _places(found: Sequence[tuple[_Inner, ElementAccess]], what: str) -> tuple[Buffer, set[int]]:
    """Return the name by which memory is written, and the dimensions in which all writes are at their columns."""
    names = list(dict.fromkeys(access.buffer for _, access in found))
    if len(names) > 1:
        listed = " and ".join(f"'{buffer.name}'" for buffer in names)
        raise ScheduleError(what, because=f"{listed} are names of one memory, and each is written in it")
    own = [inner.places(access) for inner, access in found]
    common = set.intersection(*own)
    if not common:
        stray = (access for (_, access), places in zip(found, own, strict=True) if not places)
        raise _not_own(next(stray, found[0][1]), what)
    return names[0], common


def _not_own(access: ElementAccess, what: str) -> ScheduleError:
    text = expr_text(Load(access.buffer, access.indices))
    return ScheduleError(
        what,
        because=f"{text} is written in the loop, and not only at the statement's own column",
        fix="fission the loop between the two",
    )


def _require_fixed(stmt: Stmt, changed: set[Buffer], what: str) -> None:
    for expr in held(stmt):
        for part in loads(expr):
            if storage(part.buffer) in changed:
                raise ScheduleError(
                    what,
                    because=f"{expr_text(part)}, which a loop, a let or a condition reads, is written in it",
                )


@dataclass(frozen=True, slots=True)
class _Inner:
    """A statement in the loop, the column that it stands in, and what it touches."""

    site: Site
    column: Var
    regions: Regions

    @classmethod
    def of(cls, site: Site, columns: frozenset[Var], what: str) -> _Inner:
        stmt = site.stmt
        assert isinstance(stmt, Leaf)
        around = [loop.var for loop in site.loops if loop.var in columns]
        if not isinstance(stmt, Store | Reduce):
            raise ScheduleError(
                what, because=f"'{stmt.label.name}' stands in it, and what comes after may rely on it"
            )
        if len(around) != 1:
            where = "none" if not around else "two"
            raise ScheduleError(what, because=f"'{stmt.label.name}' stands in {where} of the columns")
        if isinstance(stmt, Reduce) and around[0] in stmt.axes:
            raise ScheduleError(what, because=f"'{stmt.label.name}' reduces over the columns")
        return cls(site, around[0], regions(site))

    def places(self, access: ElementAccess) -> set[int]:
        """Return the dimensions in which an access is at the column."""
        return {d for d, index in enumerate(access.indices) if index == Ref(self.column)}


@dataclass
class _SliceColumns(Rewriter):
    """Restricts each column loop to one slice."""

    columns: frozenset[Var] = field(kw_only=True)
    width: int = field(kw_only=True)
    slices: Var = field(kw_only=True)
    owner: Rewriter = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and stmt.var in self.columns:
            inner = self.owner.copied_loop(stmt.var, "s")
            place = plus(times(Ref(self.slices), Const(self.width)), Ref(inner))
            body = Moved(values={stmt.var: place}).stmt(stmt.body)
            return replace(stmt, var=inner, extent=Const(self.width), body=body)
        return super().stmt(stmt)
