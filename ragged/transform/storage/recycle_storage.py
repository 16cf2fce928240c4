"""recycle_storage: rows of a workspace that stand where rows of earlier rounds stood that nobody reads any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ragged.analysis.accesses import Access, accesses, inside
from ragged.analysis.buffers import check_alone, check_known
from ragged.arith.bindings import Bindings, bindings
from ragged.arith.fold import plus
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Function, Load, Ref, Role, Var, add, within
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import Alloc, Barrier, Block, For, Let, LoopKind, Stmt
from ragged.prove import Unproven
from ragged.transform.legality import answer
from ragged.transform.locate import loop_site


class Rows(NamedTuple):
    """What a round makes: the `length` rows from `begin` on. They are kept from row `first` on, one after another."""

    begin: Expr
    length: Expr
    first: Expr


class Pointer(NamedTuple):
    """What leads to rows of earlier rounds: `function` of a row, or of what `via` says that the row has.

    That is the numbers from `via(n)` to below `via(n + 1)` of row n, as for the children of a node.
    """

    function: Function
    via: Function | None = None


class Kept(NamedTuple):
    """Where rows are kept: row n in `row(n)`, of `extent` rows.

    `pointers` lead from a round's rows to those of earlier rounds, and `last` to what is read when all rounds are over.
    Who says so vouches for it that a row is kept where another one was only in rounds after the last one that has a
    pointer to that, not in the round after that one's own, and never where a `last` leads to that.
    """

    row: Function
    extent: Expr
    pointers: tuple[Pointer, ...]
    last: tuple[Function, ...]


def recycle_storage(
    program: Program, buffer: Buffer, dimension: int, loop: Var, rows: Rows, start: Rows | None, kept: Kept
) -> Rewritten:
    """Keep rows of a workspace where others were that are not needed any more.

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
                for i in serial(16):
                    y[r, i] = h[root, i]

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
                for i in serial(16):
                    y[r, i] = h[storage_row(root), i]

    Rows are those of a `dimension`. Each iteration of the loop is a round, and `rows` are of its variable; what is used
    before the loop are rows of the round `start`. What is proven is that each round uses its own rows and what pointers
    of these lead to; that rows are where `kept` says is vouched for by who calls. Comes after a kernel is shared out:
    what is told of rows by then is told of their numbers. The buffer is a new one of the same name.

    Raises:
        ScheduleError: the buffer is no workspace, or shares its memory; it has no such dimension; the loop is no serial
            one, or stands in one that is not a team's; a team does not meet between what is read by
            pointers in one round and what is written in the next;
            something uses of the buffer what is not proven to be a row of its round, or where a pointer of one leads;
            or the rows are not proven to be among the `extent`.
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
    rounds.check_room(what)
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
        use for use in found if _is_inside(place, use.site) and _is_led(places[use.indices[dimension]], kept)
    ]
    _check_meetings(program, place, found, led, what)
    new = replace(
        buffer, shape=tuple(kept.extent if d == dimension else old for d, old in enumerate(buffer.shape))
    )
    lets = frozenset(
        let for use in found for let in _lets(place, use.site) if Ref(let) == use.indices[dimension]
    )
    rewriter = _Recycle(old=buffer, new=new, dimension=dimension, places=places, kept=kept, lets=lets)
    stages = tuple(replace(stage, body=rewriter.stmt(stage.body)) for stage in program.stages)
    declared = tuple(new if other is buffer else other for other in program.buffers)
    return rewriter.finish(program, replace(program, buffers=declared, stages=stages))


def _check_rounds(place: Site, what: str) -> None:
    """Refuse unless rounds run one after another."""
    loop = place.stmt
    assert isinstance(loop, For)
    for outer in (*place.loops, loop):
        if outer.kind is not (LoopKind.SERIAL if outer is loop else LoopKind.TEAM):
            raise ScheduleError(
                what,
                because=f"loop '{outer.var.name}' is {outer.kind.value}: there are not rounds one after another, once",
                fix="name a serial loop in none, or in a team's",
            )


def _check_meetings(
    program: Program, place: Site, found: Sequence[Access], led: Sequence[Access], what: str
) -> None:
    """Refuse unless a team meets between what is read by pointers in a round and what the next one writes.

    What a round makes itself may be written over two rounds later: to meet anywhere in each is enough for that.
    """
    if all(outer.kind is not LoopKind.TEAM for outer in place.loops):
        return
    meetings = [
        order
        for order, site in enumerate(sites(program))
        if isinstance(site.stmt, Barrier) and _always(place, site)
    ]
    last = max((use.order for use in led), default=-1)
    first = min((use.order for use in found if use.writes and _is_inside(place, use.site)), default=last)
    if not any(order > last or order < first for order in meetings):
        raise ScheduleError(
            what,
            because="the workers do not meet between what one reads in a round and what others write in the next",
            fix="leave it where it is",
        )


def _is_inside(place: Site, site: Site) -> bool:
    return any(outer is place.stmt for outer in site.around)


def _lets(place: Site, site: Site) -> Iterator[Var]:
    """Yield the variables of the lets around a use: of one in a round, those that are bound in the round."""
    around = site.around[len(place.around) + 1 :] if _is_inside(place, site) else site.around
    return (outer.var for outer in around if isinstance(outer, Let))


def _always(place: Site, site: Site) -> bool:
    """Return whether each round comes by a statement exactly once."""
    if not _is_inside(place, site):
        return False
    return all(isinstance(outer, Let | Alloc) for outer in site.around[len(place.around) + 1 :])


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The rounds of a loop, which is so far down in the text as `uses` counts, and where their rows are kept."""

    program: Program
    place: Site
    rows: Rows
    start: Rows | None
    kept: Kept
    known: Bindings
    order: int

    def check_room(self, what: str) -> None:
        """Refuse unless the rows of each round, and those that pointers lead to, are among those that are there."""
        row = self.kept.row
        (param,) = row.params
        fits: list[tuple[Site, Expr, str]] = []
        outside = Site(self.place.stage, self.place.stmt)
        for site, rows in ((inside(self.place), self.rows), (outside, self.start)):
            if rows is not None:
                end = add(rows.first, rows.length)
                room = Binary(
                    BinaryOp.AND,
                    Binary(BinaryOp.LE, Const(0), rows.first),
                    Binary(BinaryOp.LE, end, self.kept.extent),
                )
                fits.append((site, room, f"the rows from {expr_text(rows.first)} on"))
        loop = For(param.var, param.extent, Block())
        anywhere = Site(self.place.stage, Block(), (loop,))
        fits.append(
            (
                anywhere,
                within(Call(row, (Ref(param.var),)), Const(0), self.kept.extent),
                f"what '{row.name}' says",
            )
        )
        for site, goal, name in fits:
            found = answer(self.program, site, goal)
            if isinstance(found, Unproven):
                raise ScheduleError(
                    what,
                    because=f"{name} may be beyond the {expr_text(self.kept.extent)} that are there",
                    example=found.example,
                )

    def kept_at(self, use: Access, index: Expr) -> Expr | None:
        """Return where what a use finds at an index is kept; None if that is not known."""
        if use.site.stage.kind is not StageKind.KERNEL:
            return None
        if _is_inside(self.place, use.site):
            return self._of_round(use, index, self.rows)
        if use.order < self.order:
            return None if self.start is None else self._own(use, index, self.start)
        match use.site.expand(index):
            case Call(function=function) if function in self.kept.last:
                return Call(self.kept.row, (index,))
            case _:
                return None

    def _of_round(self, use: Access, index: Expr, rows: Rows) -> Expr | None:
        led = use.site.expand(index)
        for pointer in self.kept.pointers:
            if isinstance(led, Call) and led.function is pointer.function:
                return Call(self.kept.row, (index,)) if self._leads(use, led, pointer, rows) else None
        return self._own(use, index, rows)

    def _own(self, use: Access, index: Expr, rows: Rows) -> Expr | None:
        """Return where a row that the round makes is kept; None if it is not proven to be one."""
        own = self._holds(use, within(index, rows.begin, add(rows.begin, rows.length)))
        return self._moved(index, rows) if own else None

    def _leads(self, use: Access, led: Call, pointer: Pointer, rows: Rows) -> bool:
        """Return whether a pointer is asked about a row of the round, or about what one has."""
        begin, end = rows.begin, add(rows.begin, rows.length)
        if pointer.via is not None:
            begin, end = Call(pointer.via, (begin,)), Call(pointer.via, (end,))
        return self._holds(use, within(led.args[0], begin, end))

    def _holds(self, use: Access, goal: Expr) -> bool:
        return not isinstance(answer(self.program, use.site, goal), Unproven)

    def _moved(self, index: Expr, rows: Rows) -> Expr:
        """Return a row's place, told from `first`: in a let's own words where it says `begin + rest`."""
        base = self.known.affine(rows.begin)
        said = self.known.lets.get(index.var) if isinstance(index, Ref) else None
        match said:
            case Binary(op=BinaryOp.ADD, lhs=begin, rhs=rest) if self.known.affine(begin) == base:
                return add(rows.first, rest)
            case _:
                return plus(rows.first, self.known.affine(index).plus(base, -1).expr)


@dataclass
class _Recycle(Rewriter):
    """Puts a row's place where the row was; what a let says of a row has its place in a let of its own."""

    old: Buffer = field(kw_only=True)
    new: Buffer = field(kw_only=True)
    dimension: int = field(kw_only=True)
    places: Mapping[Expr, Expr] = field(kw_only=True)
    kept: Kept = field(kw_only=True)
    lets: frozenset[Var] = field(kw_only=True)
    named: dict[Var, Var] = field(default_factory=dict, kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        own, inner = super().access(buffer, indices)
        if buffer is not self.old:
            return own, inner
        index = indices[self.dimension]
        place = self.places[index]
        if isinstance(index, Ref) and index.var in self.lets and not _is_led(place, self.kept):
            name = Var(f"{index.var.name}_row", index.var.dtype)
            place = Ref(self.named.setdefault(index.var, name))
        return self.new, (*inner[: self.dimension], place, *inner[self.dimension + 1 :])

    def stmt(self, stmt: Stmt) -> Stmt:
        new = super().stmt(stmt)
        if isinstance(stmt, Let) and stmt.var in self.named:
            assert isinstance(new, Let)
            return replace(new, body=Let(self.named[stmt.var], self.places[Ref(stmt.var)], new.body))
        return new


def _is_led(place: Expr, kept: Kept) -> bool:
    """Return whether a row is found by what is kept of it, and not by its number in the round."""
    return isinstance(place, Call) and place.function is kept.row
