"""rebase_storage: size a workspace for one iteration of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.accesses import BufferAccess, accesses, inside
from ragged.analysis.buffers import check_alone, check_known
from ragged.arith.affine import AffineForm
from ragged.arith.bindings import Bindings, bindings
from ragged.errors import ScheduleError
from ragged.ir.build import within
from ragged.ir.expr import Binary, Buffer, Expr, Load, Ref, Role, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.sites import Site
from ragged.ir.stmt import For, LoopKind
from ragged.ir.walk import subexpressions
from ragged.prove import Proof, Unproven, answer
from ragged.transform.locate import loop_site


def rebase_storage(
    program: Program, buffer: Buffer, dimension: int, loop: Var, begin: Expr, length: Expr, extent: Expr
) -> Rewritten:
    """Give a workspace room for the `length` rows from `begin` on that an iteration of a serial loop uses of it.

    before::

        t: workspace(float32[num_nodes, 16])
        with kernel:
            for b in serial(num_batches):
                for n in parallel(batch_length(b)):
                    node = batch_begin(b) + n
                    for i in serial(16):
                        t[node, i] = tanh(x[node, i])
                ...

    after `rebase_storage(program, t, 0, b, batch_begin(b), batch_length(b), widest)`::

        t: workspace(float32[widest, 16])
        with kernel:
            for b in serial(num_batches):
                for n in parallel(batch_length(b)):
                    node = batch_begin(b) + n
                    for i in serial(16):
                        t[n, i] = tanh(x[node, i])
                ...

    Rows are those of a `dimension`. No iteration reads what another one wrote, since their rows are not the same; so
    the next one may have the same room. `begin` and `length` are of the loop's variable, `extent` is of sizes. Comes
    before a kernel is shared out, which puts barriers where room is used again; afterwards it is for what each worker
    has a copy of, as `distribute_over_team` with `own` makes them. The buffer is a new one of the same name.

    Raises:
        ScheduleError: the buffer is no workspace, or shares its memory; it has no such dimension; the loop is not
            serial, or stands in one that is not; the buffer is used outside of it; or it is not proven that all that is
            used lies in the iteration's rows, that these are others in each iteration, or that they are no more than
            `extent`.
    """
    what = f"rebase_storage: cannot give '{buffer.name}' room for one iteration of loop '{loop.name}'"
    check_known(program, buffer, "rebase_storage")
    check_alone(program, buffer, "rebase_storage")
    if buffer.role is not Role.WORKSPACE or not 0 <= dimension < len(buffer.shape):
        raise ScheduleError(
            what,
            because=f"it has the role '{buffer.role.value}' and {len(buffer.shape)} dimensions",
            fix="name a workspace, and one of its dimensions from 0",
        )
    place = loop_site(program, loop, "rebase_storage")
    known = bindings(program)
    base, found, rows = known.affine(begin), accesses(program, buffer), _RowRange(begin, length)
    _check_loops(place, found, extent, what)
    _check_inside(found, place, what, buffer)
    _check_rows(program, place, rows, extent, what)
    for use in found:
        there = answer(program, use.site, within(use.indices[dimension], begin, rows.end))
        _refuse(there, what, f"{_text(buffer, use)} is not proven to be in the iteration's rows")
    shape = tuple(extent if d == dimension else old for d, old in enumerate(buffer.shape))
    new = replace(buffer, shape=shape)
    rewriter = _Rebase(old=buffer, new=new, dimension=dimension, base=base, known=known)
    declared = tuple(new if other is buffer else other for other in program.buffers)
    return rewriter.program(program, buffers=declared)


def _check_loops(place: Site, found: Sequence[BufferAccess], extent: Expr, what: str) -> None:
    loop = place.stmt
    assert isinstance(loop, For)
    for outer in (*place.loops, loop):
        own = outer.kind is LoopKind.TEAM and all(Ref(outer.var) in use.indices for use in found)
        if outer.kind is not LoopKind.SERIAL and not own:
            raise ScheduleError(
                what,
                because=f"loop '{outer.var.name}' is {outer.kind.value}, and its iterations would share the room",
                fix="name a serial loop in none that is not, before the kernel is shared out",
            )
    if any(isinstance(part, Ref | Load) for part in subexpressions(extent)):
        raise ScheduleError(
            what, because=f"{expr_text(extent)} is not made of sizes alone", fix="name a size that is given"
        )


def _check_inside(found: Sequence[BufferAccess], place: Site, what: str, buffer: Buffer) -> None:
    for use in found:
        if all(outer is not place.stmt for outer in use.site.around):
            raise ScheduleError(
                what,
                because=f"{_text(buffer, use)} is {use.kind.value} outside of the loop",
                fix="name a loop around all that uses it",
            )


def _check_rows(program: Program, place: Site, rows: _RowRange, extent: Expr, what: str) -> None:
    """Refuse unless an iteration's rows are at most `extent`, and none of them any other iteration's."""
    loop = place.stmt
    assert isinstance(loop, For)
    few = answer(program, inside(place), Binary(BinaryOp.LE, rows.length, extent))
    _refuse(few, what, f"{expr_text(rows.length)} is not proven to be {expr_text(extent)} at most")
    before = Var(f"{loop.var.name}_before", loop.var.dtype)
    earlier = _RowRange(*(substitute(each, {loop.var: Ref(before)}) for each in (rows.begin, rows.length)))
    apart = Binary(
        BinaryOp.OR,
        Binary(BinaryOp.LE, rows.end, earlier.begin),
        Binary(BinaryOp.LE, earlier.end, rows.begin),
    )
    found = answer(
        program,
        inside(place),
        apart,
        loops=[(before, place.expand(loop.extent))],
        conditions=[Binary(BinaryOp.LT, Ref(before), Ref(loop.var))],
    )
    _refuse(found, what, f"the rows from {expr_text(rows.begin)} may be those of another iteration too")


def _refuse(found: Proof | Unproven, what: str, because: str) -> None:
    if isinstance(found, Unproven):
        raise ScheduleError(what, because=because, example=found.example)


def _text(buffer: Buffer, use: BufferAccess) -> str:
    return expr_text(Load(buffer, use.indices))


@dataclass(frozen=True, slots=True)
class _RowRange:
    """The range of rows that an iteration accesses."""

    begin: Expr
    length: Expr

    @property
    def end(self) -> Expr:
        """The first row after the range."""
        return Binary(BinaryOp.ADD, self.begin, self.length)


@dataclass
class _Rebase(Rewriter):
    """Tells the indices of a dimension from where an iteration's rows begin."""

    old: Buffer = field(kw_only=True)
    new: Buffer = field(kw_only=True)
    dimension: int = field(kw_only=True)
    base: AffineForm = field(kw_only=True)
    known: Bindings = field(kw_only=True)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        own, inner = super().access(buffer, indices)
        if buffer is not self.old:
            return own, inner
        moved = self.told(indices[self.dimension])
        return self.new, (*inner[: self.dimension], moved, *inner[self.dimension + 1 :])

    def told(self, index: Expr) -> Expr:
        """Return an index told from where the rows begin: a let's own words where it says `begin + rest`."""
        said = self.known.lets.get(index.var) if isinstance(index, Ref) else None
        match said:
            case Binary(op=BinaryOp.ADD, lhs=begin, rhs=rest) if self.known.affine(begin) == self.base:
                return rest
            case _:
                return self.known.affine(index).plus(self.base, -1).expr
