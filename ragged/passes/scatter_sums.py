"""Add each term of a sum where an index array says, instead of comparing each result's place with each index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ragged.arith.fold import ZERO, floordiv, plus, times
from ragged.ir.build import both, sub, within
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Select, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.stmt import Block, For, If, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import conjuncts, loads, mentions

COLUMNS = 16
"""Columns that an iteration of the outer loop over them adds to: a cache line of float32."""


def scatter_sums(program: Program) -> Rewritten:
    """Return the program with sums over the terms that an index selects made additions to the selected elements.

    before::

        for e in parallel(E):
            for d in parallel(D):
                y[e, d] = 0.0
                for l in serial(L):
                    y[e, d] += x[l, d] if rows[l] == e else 0.0

    after::

        for e in parallel(E):
            for d in parallel(D):
                y[e, d] = 0.0
        for d_o in parallel((D + 15) // 16):
            for l in serial(L):
                if 0 <= rows[l] and rows[l] < E:
                    for d_i in serial(min(D - d_o * 16, 16)):
                        y[rows[l], d_o * 16 + d_i] = y[rows[l], d_o * 16 + d_i] + x[l, d_o * 16 + d_i]

    Each element is the sum of the same terms in the same order, without the zeros in between: its bits stay. Terms are
    added one after another, columns in parallel; without columns one worker adds all. The time is that of the
    terms, where it was that of all pairs of an element and a term. This is the gradient of a look-up in a table.
    """
    rewriter = _Scatter()
    return rewriter.program(program, kinds=(StageKind.KERNEL,))


@dataclass(frozen=True, slots=True)
class _SelectedSum:
    """A nest of `results`, loops over elements, that starts each by `start` and adds `update` in loops over `terms`.

    The term is `value` where `index` is the loop variable of `row`, and where conditions hold: `before` the index is
    evaluated, and `after` it.
    """

    results: tuple[For, ...]
    start: Store
    terms: tuple[For, ...]
    update: Reduce
    row: For
    index: Expr
    value: Expr
    before: tuple[Expr, ...]
    after: tuple[Expr, ...]


@dataclass
class _Scatter(Rewriter):
    def stmt(self, stmt: Stmt) -> Stmt:
        found = _selected_sum(stmt)
        return super().stmt(stmt) if found is None else block(_started(found), _added(found))


def _selected_sum(stmt: Stmt) -> _SelectedSum | None:
    """Return the sum that a nest is; None if it is another."""
    results, inner = _chain(stmt, LoopKind.PARALLEL, LoopKind.SERIAL)
    match inner:
        case Block(body=(Store(buffer=buffer, value=Const(value=0)) as start, For() as loop)):
            terms, update = _chain(loop, LoopKind.SERIAL)
        case _:
            return None
    own = {each.var: each for each in results}
    if not (
        isinstance(update, Reduce)
        and update.combiner is Combiner.SUM
        and update.buffer is buffer
        and update.indices == start.indices == tuple(map(Ref, own))
        and update.axes == tuple(each.var for each in terms)
        and isinstance(update.value, Select)
        and update.value.if_false == start.value
        and not any(mentions(each.extent, own) for each in (*results, *terms))
        and not _reads(update.value, buffer)
    ):
        return None
    conditions = tuple(conjuncts(update.value.condition))
    for place, each in enumerate(conditions):
        before, after = conditions[:place], conditions[place + 1 :]
        for var, index in _equated(each):
            if (
                var in own
                and _reads(index, None)
                and not any(mentions(x, own) for x in (index, *before, *after))
            ):
                value = update.value.if_true
                return _SelectedSum(results, start, terms, update, own[var], index, value, before, after)
    return None


def _chain(stmt: Stmt, *kinds: LoopKind) -> tuple[tuple[For, ...], Stmt]:
    """Return the loops of these kinds that are directly inside each other, and what is in them."""
    loops: list[For] = []
    while isinstance(stmt, For) and stmt.kind in kinds:
        loops.append(stmt)
        stmt = stmt.body
    return tuple(loops), stmt


def _equated(condition: Expr) -> Iterator[tuple[Var, Expr]]:
    """Yield each variable that a condition says the value of, with that."""
    if isinstance(condition, Binary) and condition.op is BinaryOp.EQ:
        for one, other in ((condition.lhs, condition.rhs), (condition.rhs, condition.lhs)):
            if isinstance(one, Ref):
                yield one.var, other


def _reads(expr: Expr, buffer: Buffer | None) -> bool:
    """Return whether an expression reads a buffer; with None, any."""
    return any(buffer is None or part.buffer is buffer for part in loads(expr))


def _started(own: _SelectedSum) -> Stmt:
    stmt: Stmt = own.start
    for loop in reversed(own.results):
        stmt = replace(loop, body=stmt)
    return stmt


def _added(own: _SelectedSum) -> Stmt:
    """Return the loops that add the terms: over the other dimensions, blocks of columns, terms, and columns."""
    others = [loop for loop in own.results if loop is not own.row]
    values: dict[Var, Expr] = {loop.var: Ref(Var(loop.var.name)) for loop in (*others, *own.terms)}
    values[own.row.var] = substitute(own.index, values)
    columns = others.pop() if others else None
    if columns is not None:
        blocks, column = Var(f"{columns.var.name}_o"), Var(f"{columns.var.name}_i")
        values[columns.var] = plus(times(Ref(blocks), Const(COLUMNS)), Ref(column))
    indices = tuple(values[loop.var] for loop in own.results)
    buffer, update = own.start.buffer, own.update
    total = Binary(BinaryOp.ADD, Load(buffer, indices), substitute(own.value, values), update.at)
    stmt: Stmt = Store(update.label, buffer, indices, total, update.at)
    if columns is not None:
        rest = sub(columns.extent, times(Ref(blocks), Const(COLUMNS)))
        stmt = For(column, Binary(BinaryOp.MIN, rest, Const(COLUMNS)), stmt)
    condition: Expr | None = None
    for each in (*own.before, within(own.index, ZERO, own.row.extent), *own.after):
        condition = both(condition, substitute(each, values))
    assert condition is not None
    stmt = If(condition, stmt)
    for loop in reversed(own.terms):
        stmt = For(_var(values[loop.var]), loop.extent, stmt, at=loop.at)
    if columns is not None:
        count = floordiv(plus(columns.extent, Const(COLUMNS - 1)), COLUMNS)
        stmt = For(blocks, count, stmt, LoopKind.PARALLEL, at=columns.at)
    for loop in reversed(others):
        stmt = For(_var(values[loop.var]), loop.extent, stmt, LoopKind.PARALLEL, at=loop.at)
    return stmt


def _var(ref: Expr) -> Var:
    assert isinstance(ref, Ref)
    return ref.var
