"""Places in matrices of unknown width, `row * width + column`: they differ where rows or columns do.

To the solver such places are products of unknowns, where it succeeds or not by luck. Where both columns are known to be
below the width, it has to compare rows and columns alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from ragged.ir.build import add, within
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Binary, Const, Expr
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import reads_memory

_ZERO, _ONE = Const(0), Const(1)


@dataclass(slots=True)
class RowMajor:
    """What implies a goal: `goal` itself, wherever every one of `bounds` holds."""

    goal: Expr
    bounds: list[Expr] = field(default_factory=list)


def by_rows_and_columns(goal: Expr) -> RowMajor | None:
    """Return goals that imply `goal`, a disjunction, with places told apart by rows and columns; None if none are.

    before::

        start + i * n(b) + j != start + k * n(b) + l

    after::

        i != k or j != l

    bounds::

        0 <= j and j < n(b),  0 <= l and l < n(b)
    """
    found = RowMajor(goal)
    found.goal = _replaced(goal, found.bounds)
    return found if found.bounds else None


def _replaced(goal: Expr, bounds: list[Expr]) -> Expr:
    match goal:
        case Binary(op=BinaryOp.OR, lhs=lhs, rhs=rhs):
            return Binary(BinaryOp.OR, _replaced(lhs, bounds), _replaced(rhs, bounds))
        case Binary(op=BinaryOp.NE, lhs=lhs, rhs=rhs) if lhs.dtype is INDEX:
            return (
                _compared(*_apart(*(list(_operands(BinaryOp.ADD, side)) for side in (lhs, rhs))), bounds)
                or goal
            )
        case _:
            return goal


def _compared(one: Sequence[Expr], other: Sequence[Expr], bounds: list[Expr]) -> Expr | None:
    """Return that sums differ in rows or in columns, if both have rows of one width; note what it needs."""
    widths = [
        factor
        for addend in one
        for factor in dict.fromkeys(_operands(BinaryOp.MUL, addend))
        if _is_width(factor)
    ]
    there = {factor for addend in other for factor in _operands(BinaryOp.MUL, addend)}
    common = [factor for factor in widths if factor in there]
    if not common:
        return None
    width = max(common, key=common.count)  # the innermost: rows of rows have it in each of their products
    (row, column), (other_row, other_column) = (_split(addends, width) for addends in (one, other))
    bounds += [within(each, _ZERO, width) for each in (column, other_column)]
    return Binary(BinaryOp.OR, Binary(BinaryOp.NE, row, other_row), Binary(BinaryOp.NE, column, other_column))


def _apart(one: list[Expr], other: list[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Return two sums without what both have: what is loaded may change between the two."""
    for addend in tuple(one):
        if addend in other and _is_steady(addend):
            one.remove(addend)
            other.remove(addend)
    return one, other


def _split(addends: Sequence[Expr], width: Expr) -> tuple[Expr, Expr]:
    """Return what is multiplied by the width, and the rest."""
    rows, columns = [], []
    for addend in addends:
        row = _divided(addend, width)
        if row is None:
            columns.append(addend)
        else:
            rows.append(row)
    return _sum(rows), _sum(columns)


def _divided(product: Expr, factor: Expr) -> Expr | None:
    """Return a product without one factor, if it is one."""
    if product == factor:
        return _ONE
    match product:
        case Binary(op=BinaryOp.MUL, lhs=lhs, rhs=rhs):
            if (rest := _divided(rhs, factor)) is not None:
                return lhs if rest is _ONE else Binary(BinaryOp.MUL, lhs, rest)
            if (rest := _divided(lhs, factor)) is not None:
                return rhs if rest is _ONE else Binary(BinaryOp.MUL, rest, rhs)
            return None
        case _:
            return None


def _operands(operator: BinaryOp, expr: Expr) -> Iterator[Expr]:
    """Yield what a sum adds, or what a product multiplies; of another expression itself."""
    match expr:
        case Binary(op=op, lhs=lhs, rhs=rhs) if op is operator:
            yield from _operands(operator, lhs)
            yield from _operands(operator, rhs)
        case _:
            yield expr


def _is_width(factor: Expr) -> bool:
    return not isinstance(factor, Const) and _is_steady(factor)


def _is_steady(expr: Expr) -> bool:
    return not reads_memory(expr)


def _sum(addends: Sequence[Expr]) -> Expr:
    return reduce(add, addends) if addends else _ZERO
