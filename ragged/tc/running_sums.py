"""Sums over the values of an index from a place on, or before it, for each such place: a running sum of them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import FoldedSubstitution, plus
from ragged.arith.thresholds import threshold
from ragged.ir.expr import Binary, Const, Expr, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import mentions, variables
from ragged.tc.checked import IndexRange
from ragged.tc.gradient_text import BufferStatement, DefinitionWriter
from ragged.tc.partials import where
from ragged.tc.ranges import difference


def running_sum(
    writer: DefinitionWriter,
    type_: str,
    element: Sequence[Var],
    known: Mapping[Var, IndexRange],
    term: tuple[Var, Expr, Expr],
    holds: Callable[[Expr], bool],
) -> Expr | None:
    """Return the sum of `term` at an element, from running sums that are written as a statement; None if it is none.

    The term is the index that is summed, its only condition, and its value, which can be computed for all values of the
    index. So the sum of `d_y(n, i)` where `j < i + 1`, which the gradient of a cumulative sum is, becomes::

        sum_y(n, t) +=! d_y(n, D - 1 - u) where t in 0:D, u in 0:t + 1

    read at `D - 1 - j`. That takes a comparison of the index with what the value does not depend on, and ranges
    that do not vary.
    """
    var, condition, value = term
    place = threshold(condition, var)
    own = known[var]
    if place is None or variables(own.lower, own.upper) & known.keys():
        return None
    begin, is_first = place
    kept = [each for each in element if mentions(value, (each,))]
    fixed = not any(variables(known[each].lower, known[each].upper) & known.keys() for each in kept)
    if not fixed or variables(begin) & {var, *kept} or not variables(begin) & known.keys():
        return None
    t, u, extent = Var("t"), Var("u"), difference(own.upper, own.lower)
    last = affine(own.upper).plus(AffineForm(constant=1), -1)
    at = last.plus(affine(Ref(u)), -1) if is_first else affine(own.lower).plus(affine(Ref(u)))
    ranges = {
        **{each: known[each] for each in kept},
        t: IndexRange(Const(0), extent),
        u: IndexRange(Const(0), plus(Ref(t), Const(1))),
    }
    buffer = writer.tensor("running_sum", type_, tuple(ranges[each] for each in (*kept, t)))
    summed = FoldedSubstitution(values={var: at.expr}).expr(value)
    writer.backward.append(BufferStatement(buffer, (*kept, t), "+=!", summed, ranges))
    some = Binary(BinaryOp.LT, begin, own.upper) if is_first else Binary(BinaryOp.LT, own.lower, begin)
    if is_first and not holds(Binary(BinaryOp.LE, own.lower, begin)):
        begin = Binary(BinaryOp.MAX, begin, own.lower)
    if not is_first and not holds(Binary(BinaryOp.LE, begin, own.upper)):
        begin = Binary(BinaryOp.MIN, begin, own.upper)
    count = last.plus(affine(begin), -1) if is_first else affine(begin).plus(affine(own.lower), -1)
    number = count if is_first else count.plus(AffineForm(constant=1), -1)
    return where(None if holds(some) else some, Load(buffer, (*map(Ref, kept), number.expr)))
