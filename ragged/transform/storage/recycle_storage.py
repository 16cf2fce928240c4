"""recycle_storage: reuse dead rows of a workspace in later iterations of a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.accesses import BufferAccess, accesses, inside
from ragged.analysis.buffers import check_alone, check_known
from ragged.arith.bindings import Bindings, bindings
from ragged.arith.fold import plus
from ragged.errors import ScheduleError
from ragged.ir.build import add, both, within
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Load, Ref, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Alloc, Barrier, Block, For, Let, LoopKind, Stmt
from ragged.prove import Unproven, answer
from ragged.transform.locate import loop_site
from ragged.transform.storage.row_map import Pointer, RowMap, RowRange


def recycle_storage(
    program: Program,
    buffer: Buffer,
    dimension: int,
    loop: Var,
    rows: RowRange,
    start: RowRange | None,
    kept: RowMap,
) -> Rewritten:
    """Store rows of a workspace in the place of dead rows of earlier iterations.

    before::

        h: workspace(float32[num_nodes, 16])
        with kernel:
            for b in serial(num_batches):
                for n in serial(batch_length(b)):
                    node = batch_begin(b) + n
                    for i in serial(16):
                        h[node, i] = tanh(x[node, i] + h[left(node), i])
            for r in serial(num_roots):
                root = roots(r)
                y[r] = h[root, 0]

    after `recycle_storage(program, h, 0, b, rows, None, kept)` with the rows
    `(batch_begin(b), batch_length(b), storage_begin(b))`, kept as
    `(storage_row, storage_rows, ((left, None),), (roots,))` says::

        h: workspace(float32[storage_rows, 16])
        with kernel:
            for b in serial(num_batches):
                for n in serial(batch_length(b)):
                    node = batch_begin(b) + n
                    node_row = storage_begin(b) + n
                    for i in serial(16):
                        h[node_row, i] = tanh(x[node, i] + h[storage_row(left(node)), i])
            for r in serial(num_roots):
                root = roots(r)
                y[r] = h[storage_row(root), 0]

    Rows are those of `dimension`; `rows` is in terms of the loop's variable, `start` are the rows that are accessed
    before the loop. It is proven that an iteration accesses its own rows and those that their pointers give; `kept` is
    a precondition. Comes after a kernel is distributed over workers. The buffer is a new one of the same name.

    Raises:
        ScheduleError: the buffer is no workspace, has no such dimension or shares its memory; the loop is not serial,
            or in one that is not a team's; no barrier separates reads through pointers from the next iteration's
            writes; an access is not proven to be of such a row; or rows are not proven to be within `extent`.
    """
    what = f"recycle_storage: cannot keep rows of '{buffer.name}' where rows of earlier rounds of '{loop.name}' were"
    check_known(program, buffer, "recycle_storage")
    check_alone(program, buffer, "recycle_storage")
    if buffer.role is not Role.WORKSPACE or not 0 <= dimension < len(buffer.shape):
        raise ScheduleError(
            what,
            because=f"it has the role '{buffer.role.value}' and {len(buffer.shape)} dimensions",
            fix="name a workspace, and one of its dimensions from 0",
        )
    place = loop_site(program, loop, "recycle_storage")
    _check_rounds(place, what)
    order = next(order for order, site in enumerate(sites(program)) if site.stmt is place.stmt)
    rounds = _Rounds(program, place, rows, start, kept, bindings(program), order)
    rounds.check_extent(what)
    found = accesses(program, buffer)
    places: dict[Expr, Expr] = {}
    for use in found:
        index = use.indices[dimension]
        moved = rounds.kept_at(use, index)
        if moved is None or places.setdefault(index, moved) != moved:
            text = expr_text(Load(buffer, use.indices))
            raise ScheduleError(
                what,
                because=f"{text} is not proven to be of the round's rows, or where a pointer of one leads",
                fix="leave it where it is: not all workspaces can be kept so",
            )
    led = [
        use
        for use in found
        if _is_inside(place, use.site) and _through_map(places[use.indices[dimension]], kept)
    ]
    _check_barriers(program, place, found, led, what)
    shape = (*buffer.shape[:dimension], kept.extent, *buffer.shape[dimension + 1 :])
    new = replace(buffer, shape=shape)
    lets = frozenset(
        let for use in found for let in _lets(place, use.site) if Ref(let) == use.indices[dimension]
    )
    rewriter = _Recycle(old=buffer, new=new, dimension=dimension, places=places, kept=kept, lets=lets)
    declared = tuple(new if other is buffer else other for other in program.buffers)
    return rewriter.program(program, buffers=declared)


def _check_rounds(place: Site, what: str) -> None:
    """Refuse unless the loop's iterations run one after another, once."""
    loop = place.stmt
    assert isinstance(loop, For)
    for outer in (*place.loops, loop):
        if outer.kind is not (LoopKind.SERIAL if outer is loop else LoopKind.TEAM):
            raise ScheduleError(
                what,
                because=f"loop '{outer.var.name}' is {outer.kind.value}: there are not rounds one after another, once",
                fix="name a serial loop in none, or in a team's",
            )


def _check_barriers(
    program: Program, place: Site, found: Sequence[BufferAccess], led: Sequence[BufferAccess], what: str
) -> None:
    """Refuse unless a barrier stands between an iteration's reads through pointers and the next one's writes.

    An iteration's own rows are overwritten two iterations later at the earliest: any barrier in an iteration does.
    """
    if all(outer.kind is not LoopKind.TEAM for outer in place.loops):
        return
    barriers = [
        order
        for order, site in enumerate(sites(program))
        if isinstance(site.stmt, Barrier) and _always(place, site)
    ]
    last = max((use.order for use in led), default=-1)
    first = min((use.order for use in found if use.writes and _is_inside(place, use.site)), default=last)
    if not any(order > last or order < first for order in barriers):
        raise ScheduleError(
            what,
            because="the workers do not meet between what one reads in a round and what others write in the next",
            fix="leave it where it is",
        )


def _is_inside(place: Site, site: Site) -> bool:
    return any(outer is place.stmt for outer in site.around)


def _lets(place: Site, site: Site) -> Iterator[Var]:
    """Yield the variables of the lets around an access: inside the loop, those that are bound there."""
    around = site.around[len(place.around) + 1 :] if _is_inside(place, site) else site.around
    return (outer.var for outer in around if isinstance(outer, Let))


def _always(place: Site, site: Site) -> bool:
    """Return whether each iteration executes a statement exactly once."""
    return _is_inside(place, site) and all(
        isinstance(outer, Let | Alloc) for outer in site.around[len(place.around) + 1 :]
    )


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The iterations of a loop, its position among the program's statements, and where rows are stored."""

    program: Program
    place: Site
    rows: RowRange
    start: RowRange | None
    kept: RowMap
    known: Bindings
    order: int

    def check_extent(self, what: str) -> None:
        """Refuse unless the places of each iteration's rows, and of those that pointers give, are in the buffer."""
        row = self.kept.row
        (param,) = row.params
        fits: list[tuple[Site, Expr, str]] = []
        outside = Site(self.place.stage, self.place.stmt)
        for site, rows in ((inside(self.place), self.rows), (outside, self.start)):
            if rows is not None:
                fits_in = both(
                    Binary(BinaryOp.LE, Const(0), rows.first),
                    Binary(BinaryOp.LE, add(rows.first, rows.length), self.kept.extent),
                )
                fits.append((site, fits_in, f"the rows from {expr_text(rows.first)} on"))
        anywhere = Site(self.place.stage, Block(), (For(param.var, param.extent, Block()),))
        stored = within(Call(row, (Ref(param.var),)), Const(0), self.kept.extent)
        fits.append((anywhere, stored, f"what '{row.name}' says"))
        for site, goal, name in fits:
            found = answer(self.program, site, goal)
            if isinstance(found, Unproven):
                raise ScheduleError(
                    what,
                    because=f"{name} may be beyond the {expr_text(self.kept.extent)} that are there",
                    example=found.example,
                )

    def kept_at(self, use: BufferAccess, index: Expr) -> Expr | None:
        """Return where the row that is accessed at an index is stored, None if that is not known."""
        if use.site.stage.kind is not StageKind.KERNEL:
            return None
        if _is_inside(self.place, use.site):
            return self._of_round(use, index, self.rows)
        if use.order < self.order:
            return None if self.start is None else self._own(use, index, self.start)
        read = use.site.expand(index)
        after = isinstance(read, Call) and read.function in self.kept.last
        return Call(self.kept.row, (index,)) if after else None

    def _of_round(self, use: BufferAccess, index: Expr, rows: RowRange) -> Expr | None:
        led = use.site.expand(index)
        for pointer in self.kept.pointers:
            if isinstance(led, Call) and led.function is pointer.function:
                return Call(self.kept.row, (index,)) if self._leads(use, led, pointer, rows) else None
        return self._own(use, index, rows)

    def _own(self, use: BufferAccess, index: Expr, rows: RowRange) -> Expr | None:
        """Return where a row of the iteration itself is stored, None if it is not proven to be one."""
        own = self._holds(use, within(index, rows.begin, add(rows.begin, rows.length)))
        return self._moved(index, rows) if own else None

    def _leads(self, use: BufferAccess, led: Call, pointer: Pointer, rows: RowRange) -> bool:
        """Return whether the argument of a pointer is proven to be a row of the iteration, or an edge of one."""
        begin, end = rows.begin, add(rows.begin, rows.length)
        if pointer.via is not None:
            begin, end = Call(pointer.via, (begin,)), Call(pointer.via, (end,))
        return self._holds(use, within(led.args[0], begin, end))

    def _holds(self, use: BufferAccess, goal: Expr) -> bool:
        return not isinstance(answer(self.program, use.site, goal), Unproven)

    def _moved(self, index: Expr, rows: RowRange) -> Expr:
        """Return where a row is stored, relative to `first`; the form of a let `begin + rest` is kept."""
        base = self.known.affine(rows.begin)
        said = self.known.lets.get(index.var) if isinstance(index, Ref) else None
        match said:
            case Binary(op=BinaryOp.ADD, lhs=begin, rhs=rest) if self.known.affine(begin) == base:
                return add(rows.first, rest)
            case _:
                return plus(rows.first, self.known.affine(index).plus(base, -1).expr)


@dataclass
class _Recycle(Rewriter):
    """Replaces the index of a row by where it is stored; for a row that a let names, in another let after it."""

    old: Buffer = field(kw_only=True)
    new: Buffer = field(kw_only=True)
    dimension: int = field(kw_only=True)
    places: Mapping[Expr, Expr] = field(kw_only=True)
    kept: RowMap = field(kw_only=True)
    lets: frozenset[Var] = field(kw_only=True)
    named: dict[Var, Var] = field(default_factory=dict, kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        own, inner = super().access(buffer, indices)
        if buffer is not self.old:
            return own, inner
        index = indices[self.dimension]
        place = self.places[index]
        if isinstance(index, Ref) and index.var in self.lets and not _through_map(place, self.kept):
            name = Var(f"{index.var.name}_row", index.var.dtype)
            place = Ref(self.named.setdefault(index.var, name))
        return self.new, (*inner[: self.dimension], place, *inner[self.dimension + 1 :])

    def stmt(self, stmt: Stmt) -> Stmt:
        new = super().stmt(stmt)
        if isinstance(stmt, Let) and stmt.var in self.named:
            assert isinstance(new, Let)
            return replace(new, body=Let(self.named[stmt.var], self.places[Ref(stmt.var)], new.body))
        return new


def _through_map(place: Expr, kept: RowMap) -> bool:
    """Return whether the index goes through the row map."""
    return isinstance(place, Call) and place.function is kept.row
