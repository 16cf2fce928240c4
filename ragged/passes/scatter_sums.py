"""Add each term of a sum where an index array says, instead of comparing each result's place with each index."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragged.arith.fold import floordiv, plus, times
from ragged.ir.build import all_of, sub, zero
from ragged.ir.expr import Binary, Buffer, Cast, Const, Expr, Load, Ref, Select, Var
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten, Substitution, substitute
from ragged.ir.stmt import Block, For, If, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import conjuncts, loads, mentions
from ragged.passes.equalities import equated, with_value

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

    What is stored of an element after its sum, as a narrower number, is stored in loops after all terms. Each element
    is the sum of the same terms in the same order, without the zeros in between: its bits stay. Terms are added one
    after another, columns and other dimensions in parallel; without these one worker adds all. The time is that of the
    terms, where it was that of all pairs of an element and a term. This is the gradient of a look-up in a table,
    `rows[l]` or `rows[e, l]`. An axis that a condition says the index of is no loop first: in the sum of
    `x[l, d] if l == row[e] else 0.0` over l one term is left, `x[row[e], d]`.
    """
    rewriter = _Scatter()
    return rewriter.program(program, kinds=(StageKind.KERNEL,))


@dataclass
class _Scatter(Rewriter):
    def stmt(self, stmt: Stmt) -> Stmt:
        nest = _sum_nest(stmt)
        if nest is None:
            return super().stmt(stmt)
        while (fewer := _without_axis(nest)) is not None:
            nest = fewer
            stmt = nest.stmt()
        found = _selected_sum(nest)
        return stmt if found is None else block(_each(nest, nest.start), _added(found), *_finished(nest))


@dataclass(frozen=True, slots=True)
class _SumNest:
    """A nest of `results`, loops over elements: each starts by `start`, and `update` adds what is selected of terms.

    `after` are the stores that follow.
    """

    results: tuple[For, ...]
    start: Store
    terms: tuple[For, ...]
    update: Reduce
    selected: Select
    after: tuple[Store, ...]

    def stmt(self) -> Stmt:
        """Return the nest as a statement."""
        inner: Stmt = self.update
        for loop in reversed(self.terms):
            inner = replace(loop, body=inner)
        if self.terms:
            inner = block(self.start, inner, *self.after)
        else:
            total = Binary(BinaryOp.ADD, self.start.value, self.selected, self.update.at)
            inner = block(replace(self.start, value=total), *self.after)
        return _each(self, inner)


@dataclass(frozen=True, slots=True)
class _SelectedSum:
    """A nest of which each term is added where `index` is the variable of `row`, and `conditions` hold."""

    nest: _SumNest
    row: For
    index: Expr
    conditions: tuple[Expr, ...]


def _sum_nest(stmt: Stmt) -> _SumNest | None:
    """Return the nest that a statement is; None if it is another."""
    results, inner = _chain(stmt, LoopKind.PARALLEL, LoopKind.SERIAL)
    match inner:
        case Block(body=(Store(buffer=buffer) as start, For() as loop, *rest)):
            terms, update = _chain(loop, LoopKind.SERIAL)
            after = tuple(stmt for stmt in rest if isinstance(stmt, Store))
        case _:
            return None
    own = {each.var: each for each in results}
    stored = {buffer, *(stmt.buffer for stmt in after)}
    if (
        isinstance(update, Reduce)
        and len(after) == len(rest)
        and all(stmt.buffer is not buffer and _is_own(stmt, update) for stmt in after)
        and update.combiner is Combiner.SUM
        and update.buffer is buffer
        and update.indices == start.indices == tuple(map(Ref, own))
        and update.axes == tuple(each.var for each in terms)
        and (selected := _selected(update.value)) is not None
        and not any(mentions(each.extent, own) for each in (*results, *terms))
        and not any(_reads(each, one) for each in (update.value, start.value) for one in stored)
    ):
        return _SumNest(results, start, terms, update, selected, after)
    return None


def _without_axis(nest: _SumNest) -> _SumNest | None:
    """Return a nest without the loop over an axis that a condition says the index of; None if it has none."""
    conditions = tuple(conjuncts(nest.selected.condition))
    axes = {loop.var: loop for loop in nest.terms}
    for place, var, index in equated(conditions, axes):
        others = tuple(loop for loop in nest.terms if loop.var is not var)
        if not any(mentions(loop.extent, (var,)) for loop in others):
            selected = replace(
                nest.selected,
                condition=all_of(with_value(conditions, place, var, index, axes[var].extent)),
                if_true=substitute(nest.selected.if_true, {var: index}),
            )
            update = replace(nest.update, value=selected, axes=tuple(loop.var for loop in others))
            return replace(nest, terms=others, update=update, selected=selected)
    return None


def _selected_sum(nest: _SumNest) -> _SelectedSum | None:
    """Return the sum of what an index selects that a nest is; None if it is another."""
    own = {each.var: each for each in nest.results}
    conditions = tuple(conjuncts(nest.selected.condition))
    for place, var, index in equated(conditions, own) if nest.terms else ():
        if _reads(index, None):
            found = with_value(conditions, place, var, index, own[var].extent)
            return _SelectedSum(nest, own[var], index, found)
    return None


def _chain(stmt: Stmt, *kinds: LoopKind) -> tuple[tuple[For, ...], Stmt]:
    """Return the loops of these kinds that are directly inside each other, and what is in them."""
    loops: list[For] = []
    while isinstance(stmt, For) and stmt.kind in kinds:
        loops.append(stmt)
        stmt = stmt.body
    return tuple(loops), stmt


def _reads(expr: Expr, buffer: Buffer | None) -> bool:
    """Return whether an expression reads a buffer; with None, any."""
    return any(buffer is None or part.buffer is buffer for part in loads(expr))


def _selected(value: Expr) -> Select | None:
    """Return what is selected of terms, converted where the sum is of another type; None if no 0 stands for others."""
    match value:
        case Select(if_false=Const(value=0)):
            return value
        case Cast(operand=Select(condition=condition, if_true=term, if_false=Const(value=0)), at=at):
            return Select(condition, replace(value, operand=term), zero(value.dtype), at)
        case _:
            return None


def _is_own(stmt: Store, update: Reduce) -> bool:
    """Return whether a store and what it reads of the sums are the element's own."""
    sums = (load for load in loads(stmt.value) if load.buffer is update.buffer)
    return stmt.indices == update.indices and all(load.indices == update.indices for load in sums)


def _each(nest: _SumNest, stmt: Stmt) -> Stmt:
    """Return the loops over elements with a statement in them."""
    for loop in reversed(nest.results):
        stmt = replace(loop, body=stmt)
    return stmt


def _finished(nest: _SumNest) -> tuple[Stmt, ...]:
    """Return the loops over elements with the stores that follow their sums."""
    if not nest.after:
        return ()
    own = {loop.var: Var(loop.var.name) for loop in nest.results}
    stmt = Substitution(values={old: Ref(var) for old, var in own.items()}).stmt(block(*nest.after))
    for loop in reversed(nest.results):
        stmt = replace(loop, var=own[loop.var], body=stmt)
    return (stmt,)


def _added(own: _SelectedSum) -> Stmt:
    """Return the loops that add the terms: over the other dimensions, blocks of columns, terms, and columns.

    Columns are those of the last dimension, unless that is the one with the index.
    """
    nest = own.nest
    others = [loop for loop in nest.results if loop is not own.row]
    values: dict[Var, Expr] = {loop.var: Ref(Var(loop.var.name)) for loop in (*others, *nest.terms)}
    columns = others.pop() if others and nest.results[-1] is not own.row else None
    if columns is not None:
        blocks, column = Var(f"{columns.var.name}_o"), Var(f"{columns.var.name}_i")
        values[columns.var] = plus(times(Ref(blocks), Const(COLUMNS)), Ref(column))
    values[own.row.var] = substitute(own.index, values)
    indices = tuple(values[loop.var] for loop in nest.results)
    buffer, update = nest.start.buffer, nest.update
    term = substitute(nest.selected.if_true, values)
    total = Binary(BinaryOp.ADD, Load(buffer, indices), term, update.at)
    stmt: Stmt = Store(update.label, buffer, indices, total, update.at)
    condition = substitute(all_of(own.conditions), values)
    by_column = columns is not None and mentions(all_of(own.conditions), (columns.var,))
    if by_column:
        stmt = If(condition, stmt)
    if columns is not None:
        rest = sub(columns.extent, times(Ref(blocks), Const(COLUMNS)))
        stmt = For(column, Binary(BinaryOp.MIN, rest, Const(COLUMNS)), stmt)
    if not by_column:
        stmt = If(condition, stmt)
    for loop in reversed(nest.terms):
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
