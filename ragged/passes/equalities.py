"""Conditions that say the value of a loop's variable: the loop is one iteration at most."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ragged.arith.fold import ZERO
from ragged.ir.build import within
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import substitute
from ragged.ir.walk import mentions


def equated(conditions: Sequence[Expr], variables: Collection[Var]) -> Iterator[tuple[int, Var, Expr]]:
    """Yield each place of a condition that says the value of a variable, with the variable and what it is.

    The value depends on the variable no more than conditions before it do: they hold where it is evaluated.
    """
    for place, each in enumerate(conditions):
        if isinstance(each, Binary) and each.op is BinaryOp.EQ:
            for one, other in ((each.lhs, each.rhs), (each.rhs, each.lhs)):
                if (
                    isinstance(one, Ref)
                    and one.var in variables
                    and not any(mentions(x, (one.var,)) for x in (other, *conditions[:place]))
                ):
                    yield place, one.var, other


def with_value(
    conditions: Sequence[Expr], place: int, var: Var, value: Expr, extent: Expr
) -> tuple[Expr, ...]:
    """Return conditions for a `value` in the place of a variable, that of a loop with an extent.

    The one at `place` says that they are equal: in its place is that the loop has such an iteration. Where it has none
    the value is not evaluated: an element that it reads need not be there.
    """
    after = (substitute(each, {var: value}) for each in conditions[place + 1 :])
    runs = () if isinstance(extent, Const) and extent.value > 0 else (Binary(BinaryOp.LT, ZERO, extent),)
    return (*conditions[:place], *runs, within(value, ZERO, extent), *after)
