"""The code that checks that a function is injective: two loops over its values, and a table from value to argument."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragged.ir.build import sub, within
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Function, Load, Ref, Role, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Range
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import Check, For, If, Label, Stmt, Store, block
from ragged.ir.walk import subexpressions


@dataclass(frozen=True, slots=True)
class InjectiveCheck:
    """The statements that check that a function is injective, and the workspace that they use."""

    stmt: Stmt
    table: Buffer


def check_injective(function: Function, facts: Iterable[Fact], name: str) -> InjectiveCheck:
    """Return the check of a function of one parameter; `facts` are its facts, `name` the table's name.

    after, for `order(i < rows)` in `[0, rows)`::

        for i in serial(rows):
            check(0 <= order(i) and order(i) < rows, ...)
            order_seen[order(i)] = i
        for i in serial(rows):
            check(order_seen[order(i)] == i, ...)

    Of two arguments with one value the table holds the later one, so that the check of the earlier one fails. The table
    has an element for each value that a Range of numbers and sizes allows, and values outside of that fail too. Without
    such a fact it has one for each number below the function's extent, as a permutation needs; values outside of that
    are compared with all before them.
    """
    extent = function.params[0].extent
    bounds = next((fact for fact in facts if isinstance(fact, Range) and _gives_bounds(fact, function)), None)
    low, high = (Const(0), extent) if bounds is None else (bounds.lower, bounds.upper)
    table = Buffer(name, INDEX, (_count(low, high),), Role.WORKSPACE)
    if bounds is None:
        return InjectiveCheck(_compared(function, table, low, high), table)
    return InjectiveCheck(_bounded(function, table, low, high), table)


def _gives_bounds(fact: Range, function: Function) -> bool:
    """Return whether `fact` bounds all values by what is known before any of them."""
    return fact.function is function and _is_closed(fact.lower) and _is_closed(fact.upper)


def _is_closed(expr: Expr) -> bool:
    parts = tuple(subexpressions(expr))
    return all(
        part.function.is_size if isinstance(part, Call) else isinstance(part, Const | Binary)
        for part in parts
    )


def _count(low: Expr, high: Expr) -> Expr:
    """Return how many numbers there are from `low` on and below `high`; a size is never negative."""
    if low == Const(0) and isinstance(high, Call) and high.function.is_natural:
        return high
    return Binary(BinaryOp.MAX, sub(high, low), Const(0))


def _bounded(function: Function, table: Buffer, low: Expr, high: Expr) -> Stmt:
    """Return the loops where each value has to be in the table's range."""
    first, second = Var("i"), Var("i")
    value = _value(function, first)
    message = f"{function.name}({{0}}) = {{1}} is not in [{{2}}, {{3}})"
    inside = _check(function, within(value, low, high), message, Ref(first), value, low, high)
    noted = Store(Label(table.name), table, (_place(value, low),), Ref(first))
    found = _finds_itself(function, table, second, low)
    return block(For(first, _extent(function), block(inside, noted)), For(second, _extent(function), found))


def _compared(function: Function, table: Buffer, low: Expr, high: Expr) -> Stmt:
    """Return the loops where values may be anything."""
    first, second, other = Var("i"), Var("i"), Var("j")
    value, here = _value(function, first), _value(function, second)
    noted = Store(Label(table.name), table, (_place(value, low),), Ref(first))
    differs = Binary(BinaryOp.NE, _value(function, other), here)
    outside = For(
        other, Ref(second), _check(function, differs, _message(function), Ref(other), Ref(second), here)
    )
    found = If(within(here, low, high), _finds_itself(function, table, second, low), outside)
    return block(
        For(first, _extent(function), If(within(value, low, high), noted)),
        For(second, _extent(function), found),
    )


def _finds_itself(function: Function, table: Buffer, step: Var, low: Expr) -> Stmt:
    value = _value(function, step)
    found = Load(table, (_place(value, low),))
    same = Binary(BinaryOp.EQ, found, Ref(step))
    return _check(function, same, _message(function), Ref(step), found, value)


def _message(function: Function) -> str:
    return f"{function.name}({{0}}) = {function.name}({{1}}) = {{2}}, which should differ"


def _check(function: Function, condition: Expr, message: str, *witness: Expr) -> Check:
    return Check(Label(f"{function.name}.fact"), condition, message, witness)


def _value(function: Function, step: Var) -> Expr:
    return Call(function, (Ref(step),))


def _place(value: Expr, low: Expr) -> Expr:
    return value if low == Const(0) else sub(value, low)


def _extent(function: Function) -> Expr:
    return function.params[0].extent
