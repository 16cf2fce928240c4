"""fuse_ragged: rows of different lengths, one after another in memory, as one loop over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ragged.errors import ScheduleError
from ragged.ir.analysis import held
from ragged.ir.expr import Binary, Call, Expr, Function, Param, Ref, Source, Var, within
from ragged.ir.facts import Monotone, PrefixSum
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.stmt import For, If, Let, LoopKind, Reduce, Stmt
from ragged.ir.walk import statements, subexpressions
from ragged.schedule.copy import Moved
from ragged.schedule.fold import ZERO, plus
from ragged.schedule.legality import holds, mentions, require_fixed, require_no_team
from ragged.schedule.linear import Linear, linear
from ragged.schedule.locate import Replace
from ragged.schedule.nest import Nest, find_nest


def fuse_ragged(program: Program, outer: Var, inner: Var) -> Rewritten:
    """Make one loop of a loop over rows and of the loop directly inside it over each row's own length.

    before::

        for n in serial(count):
            node = begin + n
            for k in serial(offset(node + 1) - offset(node)):
                y[offset(node) + k] = tanh(x[offset(node) + k])

    after::

        for n_k in serial(offset(begin + count) - offset(begin)):
            place = offset(begin) + n_k
            y[place] = tanh(x[place])

    The rows are those of a prefix sum, so that the places of consecutive rows follow each other (CoRa section 5.1,
    where only the fused index is asked for); the inner loop and its body say no more of row and place in it than
    `offset(node) + k`. The order of iterations stays; they run at once where those of both loops do. The forwarding of
    both loops is the new one.

    Raises:
        ScheduleError: `inner` does not stand directly inside `outer` or is not over consecutive rows of a prefix sum;
            the body needs the row or the place in it; a reduction goes over one of the loops; a loop is a
            team's; or the offsets are not proven to be those of a table.
    """
    what = f"fuse_ragged: cannot fuse the loops '{outer.name}' and '{inner.name}'"
    nest = find_nest(program, (outer, inner), what)
    for loop in nest.loops:
        require_no_team(loop, what)
    if nest.loops[0].var is not outer:
        raise ScheduleError(what, because=f"'{outer.name}' is the inner one", fix="name the outer loop first")
    _require_plain(nest, what)
    require_fixed(nest.body, nest.evaluated, what)
    rows = _rows(program, nest, what)
    end = plus(rows.first, nest.extent(0))
    for place in (rows.first, end):
        if not holds(program, nest.site, within(place, ZERO, rows.param.extent)):
            text = expr_text(Call(rows.offset, (place,)))
            raise ScheduleError(
                what, because=f"{text} is not proven to be in the table of '{rows.offset.name}'"
            )

    def change(found: For, owner: Rewriter) -> Stmt:
        fused = owner.copied_loop(outer, inner.name)
        owner.loop_copies.setdefault(inner, []).append(fused)
        place = Var("place", fused.dtype)
        body = _fused(nest, rows, Ref(place))
        for var in (outer, inner, *_lets(nest)):
            used = next(
                (expr for stmt in statements(body) for expr in held(stmt) if mentions(expr, (var,))), None
            )
            if used is not None:
                because = f"{expr_text(used)} needs '{var.name}' for more than its place"
                raise ScheduleError(what, because=because, fix=f"fission '{outer.name}' around it")
        first = Call(rows.offset, (rows.first,))
        extent = Binary(BinaryOp.SUB, Call(rows.offset, (end,)), first)
        body = Let(place, plus(first, Ref(fused)), body)
        return replace(nest.loops[1], var=fused, extent=extent, body=body, kind=_kind(nest))

    return Replace(loop=outer, change=change).program(program)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows `first` and on of a prefix sum; `row` is the one that an iteration is at."""

    offset: Function
    first: Expr
    row: Expr

    @property
    def param(self) -> Param:
        return self.offset.params[0]


def _kind(nest: Nest) -> LoopKind:
    """Return how the fused loop runs: a loop inside that runs at once says nothing of iterations of several rows."""
    at_once = all(loop.kind is LoopKind.PARALLEL for loop in nest.loops)
    return LoopKind.PARALLEL if at_once else LoopKind.SERIAL


def _require_plain(nest: Nest, what: str) -> None:
    for _, item in nest.between:
        if isinstance(item, If):
            raise ScheduleError(what, because=f"a condition stands between them: {expr_text(item.condition)}")
    for stmt in statements(nest.body):
        if isinstance(stmt, Reduce) and {loop.var for loop in nest.loops} & set(stmt.axes):
            raise ScheduleError(what, because=f"'{stmt.label.name}' reduces over one of them")


def _rows(program: Program, nest: Nest, what: str) -> _Rows:
    """Return the rows whose lengths the inner loop has."""
    outer = nest.loops[0].var
    for offset, row in (*_differences(program, nest.extent(1)), *_lengths(program, nest.extent(1))):
        step = linear(row).plus(Linear({Ref(outer): 1}), -1)
        if not mentions(step.expr, (outer,)):
            return _Rows(offset, _folded(row, {outer: ZERO}), row)
    raise ScheduleError(
        what,
        because=f"'{nest.loops[1].var.name}' runs {expr_text(nest.extent(1))} times, which are not the lengths of "
        "consecutive rows of a prefix sum",
        fix="fuse(outer, inner) if all rows have one length",
    )


def _differences(program: Program, extent: Expr) -> Iterator[tuple[Function, Expr]]:
    """Yield offsets and the row of which an extent is the difference of them."""
    match _written_out(extent):
        case Binary(
            op=BinaryOp.SUB, lhs=Call(function=above, args=(after,)), rhs=Call(function=offset, args=(row,))
        ) if above is offset:
            rises = any(
                (isinstance(fact, PrefixSum) and fact.offset is offset)
                or (isinstance(fact, Monotone) and fact.function is offset)
                for fact in program.facts
            )
            if rises and linear(after).plus(linear(row), -1) == Linear({}, 1):
                yield offset, row
        case _:
            return


def _lengths(program: Program, extent: Expr) -> Iterator[tuple[Function, Expr]]:
    """Yield offsets and the row of which an extent is the length, as a prefix sum says."""
    rows = {arg for part in subexpressions(extent) if isinstance(part, Call) for arg in part.args}
    for fact in program.facts:
        if isinstance(fact, PrefixSum):
            for row in rows:
                length = Call(fact.length, (row,))
                if extent in (length, _written_out(length)):
                    yield fact.offset, row


def _folded(expr: Expr, values: dict[Var, Expr]) -> Expr:
    """Return `expr` with variables replaced and sums folded."""
    return Moved(values=values).expr(expr)


def _written_out(expr: Expr) -> Expr:
    """Return an expression with the body of its function, if it is a call of one that has a body."""
    if (
        isinstance(expr, Call)
        and expr.function.source is Source.EXPRESSION
        and expr.function.body is not None
    ):
        values = {param.var: arg for param, arg in zip(expr.function.params, expr.args, strict=True)}
        return substitute(expr.function.body, values)
    return expr


def _lets(nest: Nest) -> list[Var]:
    return [item.var for _, item in nest.between if isinstance(item, Let)]


def _fused(nest: Nest, rows: _Rows, place: Expr) -> Stmt:
    known = {item.var: item.value for _, item in nest.between if isinstance(item, Let)}
    wanted = linear(Call(rows.offset, (rows.row,))).plus(Linear({Ref(nest.loops[1].var): 1}))
    return _Place(known=known, wanted=wanted, place=place).stmt(nest.body)


@dataclass
class _Place(Rewriter):
    """Puts `place` where the sum `wanted` stands, in whatever order; lets are seen through."""

    known: dict[Var, Expr] = field(kw_only=True)
    wanted: Linear = field(kw_only=True)
    place: Expr = field(kw_only=True)

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Binary) and expr.op is BinaryOp.ADD and linear(self.seen(expr)) == self.wanted:
            return self.place
        return super().expr(expr)

    def seen(self, expr: Expr) -> Expr:
        """Return an expression without the lets between the loops."""
        for _ in self.known:
            expr = substitute(expr, self.known)
        return expr
