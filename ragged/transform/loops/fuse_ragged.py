"""fuse_ragged: rows of different lengths, one after another in memory, as one loop over all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import ZERO, plus
from ragged.errors import ScheduleError
from ragged.ir.build import within
from ragged.ir.expr import Binary, Call, Expr, Ref, Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.stmt import For, If, Let, LoopKind, Reduce, Stmt
from ragged.ir.walk import held, mentions, statements
from ragged.passes.assume import assume
from ragged.prove import holds
from ragged.transform.copy_stmts import Moved
from ragged.transform.legality import require_fixed, require_no_team
from ragged.transform.locate import Replace
from ragged.transform.loops.loop_nests import Nest, find_nest
from ragged.transform.loops.prefix_sum_rows import (
    PrefixSumRows,
    declare_owner,
    declare_rows,
    find_rows,
    starts_at_zero,
)


def fuse_ragged(program: Program, outer: Var, inner: Var, *, tables: bool = False) -> Rewritten:
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

    The rows are those of a prefix sum, so that the places of consecutive rows follow each other; the inner loop and its
    body say no more of row and place in it than `offset(node) + k`, which is the fused index (CoRa's f_oif, section
    5.1). The order of iterations stays; they run at once where those of both loops do. The forwarding of both loops is
    the new one.

    With `tables`, the rows may be of any length that a prelude can compute, and the body may need the row and the
    place in it. What the program does not have yet is declared, for its prelude to fill: offsets, a prefix sum of the
    lengths, and the row of each place (f_fo; f_fi is the place less the row's offset). Here `n` are lengths::

        for b_t in serial(t_begin(rows)):
            b = t_begin_row(b_t)
            t = b_t - t_begin(b)
            y[b, t] = tanh(x[b, t])

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
    rows, new, facts = find_rows(program, nest), program, frozenset[Fact]()
    if rows is None and tables:
        new, rows, facts = declare_rows(program, nest, what)
    if rows is None:
        raise ScheduleError(
            what,
            because=f"'{inner.name}' runs {expr_text(nest.extent(1))} times, which are not the lengths of "
            "consecutive rows of a prefix sum",
            fix="fuse(outer, inner) if all rows have one length",
        )
    _require_in_table(program, nest, rows, what)
    return _FuseRagged(nest, rows, what, tables).program(new, facts)


def _require_plain(nest: Nest, what: str) -> None:
    for _, item in nest.between:
        if isinstance(item, If):
            raise ScheduleError(what, because=f"a condition stands between them: {expr_text(item.condition)}")
    for stmt in statements(nest.body):
        if isinstance(stmt, Reduce) and {loop.var for loop in nest.loops} & set(stmt.axes):
            raise ScheduleError(what, because=f"'{stmt.label.name}' reduces over one of them")


def _require_in_table(program: Program, nest: Nest, rows: PrefixSumRows, what: str) -> None:
    for place in (rows.first, plus(rows.first, nest.extent(0))):
        if not holds(program, nest.site, within(place, ZERO, rows.param.extent)):
            text = expr_text(Call(rows.offset, (place,)))
            raise ScheduleError(
                what, because=f"{text} is not proven to be in the table of '{rows.offset.name}'"
            )


@dataclass(frozen=True, slots=True)
class _FuseRagged:
    """Puts one loop in the place of a nest over `rows`; with `tables` it may ask in which row a place is."""

    nest: Nest
    rows: PrefixSumRows
    what: str
    tables: bool

    def program(self, program: Program, facts: frozenset[Fact]) -> Rewritten:
        """Return the program with the fused loop, and with a prelude that checks what it relies on."""
        outer, inner = (loop.var for loop in self.nest.loops)
        body = _fused(self.nest, self.rows, Ref(place := Var("place", inner.dtype)))
        needed = self.needed(body)
        if needed:
            if not self.tables:
                self.refuse(body)
            program, owner = declare_owner(program, self.rows)
            at = Binary(BinaryOp.SUB, Call(owner, (Ref(place),)), self.rows.first)
            body = self.bound(body, needed, Ref(place), affine(at).expr)
        zero = starts_at_zero(program, self.rows) if self.tables else None

        def change(found: For, owner: Rewriter) -> Stmt:
            fused = owner.copied_loop(outer, inner.name)
            owner.loop_copies.setdefault(inner, []).append(fused)
            first = Call(self.rows.offset, (self.rows.first,))
            end = Call(self.rows.offset, (plus(self.rows.first, self.nest.extent(0)),))
            if zero is not None:
                inside: Stmt = Moved(values={place: Ref(fused)}).stmt(body)
                extent: Expr = end
            else:
                inside = Let(place, plus(first, Ref(fused)), body)
                extent = Binary(BinaryOp.SUB, end, first)
            return replace(self.nest.loops[1], var=fused, extent=extent, body=inside, kind=_kind(self.nest))

        result = Replace(loop=outer, change=change).program(program)
        used = facts if zero is None else facts | {zero}
        return replace(result, program=assume(result.program, used))

    def needed(self, body: Stmt) -> set[Var]:
        """Return the variables of the loops, and of lets between them, that `body` uses, and what these are made of."""
        lets = {item.var: item.value for _, item in self.nest.between if isinstance(item, Let)}
        outer, inner = (loop.var for loop in self.nest.loops)
        exprs = [expr for stmt in statements(body) for expr in held(stmt)]
        found: set[Var] = set()
        for var in (inner, *reversed(lets), outer):
            if any(mentions(expr, (var,)) for expr in exprs):
                found.add(var)
                exprs += [lets[var]] if var in lets else []
        return found

    def refuse(self, body: Stmt) -> None:
        """Raise the error that says what needs more than its place."""
        lets = [item.var for _, item in self.nest.between if isinstance(item, Let)]
        outer, inner = (loop.var for loop in self.nest.loops)
        for var in (outer, inner, *lets):
            for used in (expr for stmt in statements(body) for expr in held(stmt)):
                if mentions(used, (var,)):
                    because = f"{expr_text(used)} needs '{var.name}' for more than its place"
                    raise ScheduleError(self.what, because=because, fix=f"fission '{outer.name}' around it")

    def bound(self, body: Stmt, needed: set[Var], place: Expr, row: Expr) -> Stmt:
        """Return `body` where the variables of the two loops have their values."""
        outer, inner = (loop.var for loop in self.nest.loops)
        if inner in needed:
            begin = Call(self.rows.offset, (self.rows.row,))
            body = Let(inner, Binary(BinaryOp.SUB, place, begin), body)
        for _, item in reversed(self.nest.between):
            if isinstance(item, Let) and item.var in needed:
                body = replace(item, body=body)
        return Let(outer, row, body)


def _kind(nest: Nest) -> LoopKind:
    """Return the kind of the fused loop: parallel only if both loops are."""
    at_once = all(loop.kind is LoopKind.PARALLEL for loop in nest.loops)
    return LoopKind.PARALLEL if at_once else LoopKind.SERIAL


def _fused(nest: Nest, rows: PrefixSumRows, place: Expr) -> Stmt:
    known = {item.var: item.value for _, item in nest.between if isinstance(item, Let)}
    wanted = affine(Call(rows.offset, (rows.row,))).plus(AffineForm({Ref(nest.loops[1].var): 1}))
    return _Place(known=known, wanted=wanted, place=place).stmt(nest.body)


@dataclass
class _Place(Rewriter):
    """Puts `place` where the sum `wanted` stands, in whatever order; lets are seen through."""

    known: dict[Var, Expr] = field(kw_only=True)
    wanted: AffineForm = field(kw_only=True)
    place: Expr = field(kw_only=True)

    def expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Binary) and expr.op is BinaryOp.ADD and affine(self.seen(expr)) == self.wanted:
            return self.place
        return super().expr(expr)

    def seen(self, expr: Expr) -> Expr:
        """Return an expression without the lets between the loops."""
        for _ in self.known:
            expr = substitute(expr, self.known)
        return expr
