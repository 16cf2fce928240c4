"""The inverse of an access: the iterations of a statement that read one element of a tensor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import inf

from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import FoldedSubstitution, floordiv, modulo, plus, times
from ragged.arith.index_intervals import interval_of
from ragged.ir.build import within
from ragged.ir.expr import Binary, Call, Const, Expr, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import mentions, subexpressions, variables
from ragged.tc.checked import IndexRange, varying_with
from ragged.tc.index_sums import bounds_in, is_multiple
from ragged.tc.ranges import difference


@dataclass
class AccessInverse:
    """The iterations in `ranges` at which the indices of `load` are those of `element`, which have ranges too.

    `values` has the indices of the iterations that follow from the element, `summed` are those that take all values of
    their ranges, and `conditions` are what else has to hold, each with the index that it is about, or None.
    `numerators` are values before the division by a factor, `exact` the indices that are quotients without a remainder.
    So `x(2 * h + p)` is read at element `i` where `h = (i - p) / 2`, `(i - p) % 2 == 0` and h is in its range, for each
    p.

    `x(h / 2)` is read at element `i` where `h = 2 * i + r`, for each r in 0:2, an index that is added to `ranges`; and
    where `h = 2 * i` if `h % 2 == 0` is among `given`, the conditions of the read. `x(h / D, h % D)` is read at element
    `i, j` where `h = i * D + j`, and `x((h + 1) % D)` at `i` where `h = q * D + i - 1`, for each quotient q; or where
    `h = (i - 1) % D` for one of D values of h, if there are other sums. Divisors are numbers, and what is positive for
    `sizes` that are.

    An index that is a multiple plus one of exactly so many values, `S * h + p` with p in 0:S, has both as quotient and
    remainder. Of several indices that could follow, one of the left side does, as the loops of the right side are
    the shorter ones in convolutions. An index does not follow where the ranges of those that it would follow from vary
    with it, nor where lengths are read at it and the element's index has another range: these are summed, each
    iteration under the condition that its index is the element's.
    """

    load: Load
    element: Mapping[Var, IndexRange]
    ranges: Mapping[Var, IndexRange]
    left: Sequence[Var]
    given: Sequence[Expr] = ()
    sizes: Collection[Var] = ()
    values: dict[Var, Expr] = field(default_factory=dict)
    conditions: list[tuple[Var | None, Expr]] = field(default_factory=list)
    numerators: dict[Var, tuple[Expr, int]] = field(default_factory=dict)
    exact: set[Var] = field(default_factory=set)

    def __post_init__(self) -> None:
        pending = list(zip(self.element, self.load.indices, strict=True))
        while pending:
            taken = next(([each] for each in pending if self._plain(*each)), None)
            taken = taken or next(
                (list(both) for both in permutations(pending, 2) if self._halves(*both)), None
            )
            taken = taken or next(([each] for each in pending if self._solve(*each)), None)
            if taken is None:
                break
            pending = [each for each in pending if each not in taken]
        for place, index in pending:
            self.conditions.append((None, Binary(BinaryOp.EQ, self.at(index), Ref(place))))
        for var in self.values:
            self.values[var] = _normal(self.at(self.values[var]))
        self.conditions = [(var, self.at(each)) for var, each in self.conditions]
        self.numerators = {var: (_normal(self.at(each)), by) for var, (each, by) in self.numerators.items()}

    @property
    def summed(self) -> dict[Var, IndexRange]:
        """The indices that take all values of their ranges, with these."""
        return {
            var: IndexRange(self.at(own.lower), self.at(own.upper))
            for var, own in self.ranges.items()
            if var not in self.values
        }

    def at(self, expr: Expr) -> Expr:
        """Return an expression over the indices of an iteration in those of the element and the summed ones."""
        while variables(expr) & self.values.keys():
            expr = FoldedSubstitution(values=self.values).expr(expr)
        return expr

    def _is_positive(self, by: Expr) -> bool:
        """Return whether a divisor is one for all sizes but 0, and does not change with indices."""
        return not variables(by) & self.ranges.keys() and (
            interval_of(by, lambda var: (1, inf) if var in self.sizes else None)[0] >= 1
        )

    def _plain(self, place: Var, index: Expr) -> bool:
        """Take the value of an index that stands alone."""
        if not isinstance(index, Ref) or index.var not in self.ranges or index.var in self.values:
            return False
        if self._has_lengths(index.var) and self.element[place] != self.ranges[index.var]:
            return False
        self._follows(index.var, Ref(place))
        return True

    def _halves(self, one: tuple[Var, Expr], other: tuple[Var, Expr]) -> bool:
        """Take the value of an index from its quotient at one dimension and its remainder at another one."""
        form = affine(self.at(one[1]))
        match self.at(other[1]):
            case Binary(op=BinaryOp.MOD, lhs=whole, rhs=by):
                quotient = Binary(BinaryOp.FLOORDIV, whole, by)
            case _:
                return False
        inner, remainder = affine(whole), Ref(other[0])
        term = next(iter(self._free_in(inner)), None)
        if form.terms.get(quotient) != 1 or not self._is_positive(by) or term is None:
            return False
        rest = form.plus(form.only([quotient]), -1)
        number = affine(plus(_multiple(AffineForm({Ref(one[0]): 1}).plus(rest, -1), by), remainder))
        if mentions(rest.expr, (term.var,)):
            return False
        self.conditions.append((None, within(remainder, Const(0), by)))
        return self._once(number, inner, term)

    def _solve(self, place: Var, index: Expr) -> bool:
        """Take the value of an index from that of the element; return whether there is one."""
        form, target = affine(self.at(index)), AffineForm({Ref(place): 1})
        if self._divided(target, form) or self._symbolic_quotient(target, form):
            return True
        inside = {part for term in form.terms if not isinstance(term, Ref) for part in subexpressions(term)}
        free = [
            term
            for term in form.terms
            if isinstance(term, Ref) and term not in inside and self._may_follow(term.var, form)
        ]
        free.sort(key=lambda term: (term.var not in self.left, abs(form.terms[term])))
        if not free or any(isinstance(part, Load) for part in inside):
            return False
        return self._quotient(target, form, free) or self._single(target, form, free[0])

    def _may_follow(self, var: Var, form: AffineForm) -> bool:
        """Return whether an index may follow from the others of a sum that it is in."""
        rest = form.plus(form.only([Ref(var)]), -1).expr
        return (
            var in self.summed
            and not self._has_lengths(var)
            and not varying_with({var}, self.ranges) & variables(rest)
        )

    def _free_in(self, form: AffineForm) -> list[Ref]:
        """Return the indices that are in a sum once, and could follow from the others; those of the left side first."""
        free = [term for term in form.terms if isinstance(term, Ref) and self._may_follow(term.var, form)]
        alone = (each for each in free if sum(mentions(term, (each.var,)) for term in form.terms) == 1)
        return sorted(alone, key=lambda term: (term.var not in self.left, abs(form.terms[term])))

    def _divided(self, target: AffineForm, form: AffineForm) -> bool:
        """Take the value of an index in a quotient or a remainder, from a new index of remainders or of quotients."""
        match [term for term in form.terms if not isinstance(term, Ref)]:
            case [Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD as op, lhs=lhs, rhs=by) as term]:
                inner = affine(lhs)
            case _:
                return False
        outside = form.plus(form.only([term]), -1)
        if form.terms[term] != 1 or not self._is_positive(by) or mentions(outside.expr, self.summed):
            return False
        taken = self._of_quotient if op is BinaryOp.FLOORDIV else self._of_remainder
        free = [each for each in self._free_in(inner) if varying_with({each.var}, self.ranges) == {each.var}]
        return any(taken(target.plus(outside, -1), inner, each, lhs, by) for each in free)

    def _of_quotient(self, target: AffineForm, inner: AffineForm, chosen: Ref, lhs: Expr, by: Expr) -> bool:
        """Take an index from a quotient, and a remainder of which there are no more than values of the index."""
        number, count = affine(_multiple(target, by)), self._count(chosen)
        if Binary(BinaryOp.EQ, Binary(BinaryOp.MOD, lhs, by), Const(0)) in self.given:
            self.exact.add(chosen.var)
            return self._single(number, inner, chosen)
        few = isinstance(count, Const) and isinstance(by, Const) and count.value < by.value
        if few or not (isinstance(by, Const) or is_multiple(count, by)):
            return False
        return self._once(self._new(chosen.var, IndexRange(Const(0), by)).plus(number), inner, chosen)

    def _of_remainder(self, target: AffineForm, inner: AffineForm, chosen: Ref, lhs: Expr, by: Expr) -> bool:
        """Take an index from a remainder: from that alone if it has as many values, or with a quotient of its own.

        Where nothing else is summed, two quotients take less time than a division of each element.
        """
        own, rest = self.ranges[chosen.var], inner.plus(inner.only([chosen]), -1)
        inside = within(target.expr, Const(0), by)
        alone = self.summed.keys() == {chosen.var}
        if abs(inner.terms[chosen]) == 1 and self._count(chosen) == by and not alone:
            number = AffineForm().plus(target.plus(rest, -1), inner.terms[chosen])
            place = Binary(BinaryOp.MOD, number.plus(affine(own.lower), -1).expr, by)
            self.conditions.append((None, inside))
            self._follows(chosen.var, plus(place, own.lower))
            return True
        bounds = None if mentions(rest.expr, self.summed) else bounds_in(inner, self.ranges)
        if bounds is None:
            return False
        at_least = by if isinstance(by, Const) else Binary(BinaryOp.MAX, by, Const(1))
        last = Binary(BinaryOp.FLOORDIV, plus(bounds.upper, Const(-1)), at_least)
        zero = bounds.lower == Const(0)
        first = bounds.lower if zero else Binary(BinaryOp.FLOORDIV, bounds.lower, at_least)
        end = plus(last, Const(1))
        if abs(inner.terms[chosen]) != 1:  # of no values, it would be below the first
            end = Binary(BinaryOp.MAX, end, first)
        quotient = self._new(chosen.var, IndexRange(first, end))
        self.conditions.append((None, inside))
        return self._once(affine(_multiple(quotient, by)).plus(target), inner, chosen)

    def _count(self, index: Ref) -> Expr:
        own = self.ranges[index.var]
        return difference(own.upper, own.lower)

    def _new(self, like: Var, own: IndexRange) -> AffineForm:
        """Add an index with a range to those that are summed."""
        new = Var(like.name)
        self.ranges = {**self.ranges, new: own}
        return AffineForm({Ref(new): 1})

    def _quotient(self, target: AffineForm, form: AffineForm, free: Sequence[Ref]) -> bool:
        """Take a multiple and a rest that is smaller than its factor as quotient and remainder."""
        for multiple in free:
            by = form.terms[multiple]
            if by > 1 and self._parts(target, form, multiple, multiple.var, Const(by)):
                return True
        return False

    def _symbolic_quotient(self, target: AffineForm, form: AffineForm) -> bool:
        """Do the same where the factor is no number."""
        for term, coefficient in form.terms.items():
            match term:
                case (
                    Binary(op=BinaryOp.MUL, lhs=Ref(var=var), rhs=by)
                    | Binary(op=BinaryOp.MUL, lhs=by, rhs=Ref(var=var))
                ) if coefficient == 1 and not variables(by) & self.ranges.keys():
                    others = form.plus(form.only([term]), -1)
                    if self._may_follow(var, others) and self._parts(target, form, term, var, by):
                        return True
                case _:
                    pass
        return False

    def _parts(self, target: AffineForm, form: AffineForm, multiple: Expr, var: Var, by: Expr) -> bool:
        """Take `var`, of which there is a multiple by a factor, and an index of as many values as that has."""
        for rest in form.terms:
            if not isinstance(rest, Ref) or form.terms[rest] != 1 or not self._may_follow(rest.var, form):
                continue
            own, others = self.ranges[rest.var], form.plus(form.only([multiple, rest]), -1)
            if difference(own.upper, own.lower) != by or mentions(others.expr, (var, rest.var)):
                continue
            number = target.plus(others, -1).plus(affine(own.lower), -1).expr
            if not isinstance(by, Const):  # of none, the other index has no values
                self.conditions.insert(0, (None, Binary(BinaryOp.GE, by, Const(1))))
            self._follows(var, Binary(BinaryOp.FLOORDIV, number, by))
            self.values[rest.var] = plus(Binary(BinaryOp.MOD, number, by), own.lower)
            return True
        return False

    def _once(self, target: AffineForm, form: AffineForm, term: Ref) -> bool:
        """Take the value of an index where a copy of elements with zeros between them is not worth it."""
        found = self._single(target, form, term)
        del self.numerators[term.var]
        return found

    def _single(self, target: AffineForm, form: AffineForm, term: Ref) -> bool:
        by = form.terms[term]
        rest = form.plus(form.only([term]), -1)
        number = target.plus(rest, -1)
        if by < 0:
            by, number = -by, AffineForm().plus(number, -1)
        if by > 1:
            remainder = modulo(number.expr, by)
            self.conditions.append((term.var, Binary(BinaryOp.EQ, remainder, Const(0))))
        self.numerators[term.var] = number.expr, by
        self._follows(term.var, floordiv(number.expr, by))
        return True

    def _has_lengths(self, var: Var) -> bool:
        """Return whether the range of an index reads lengths at another one."""
        return any(
            isinstance(part, Call) and mentions(part, (var,))
            for own in self.ranges.values()
            for bound in (own.lower, own.upper)
            for part in subexpressions(bound)
        )

    def _follows(self, var: Var, value: Expr) -> None:
        """Note the value of an index, which has to be in its range."""
        self.values[var] = value
        own = self.ranges[var]
        self.conditions.append((var, Binary(BinaryOp.LE, own.lower, Ref(var))))
        self.conditions.append((var, Binary(BinaryOp.LT, Ref(var), own.upper)))


def _multiple(form: AffineForm, by: Expr) -> Expr:
    return times(form.expr, by)


def _normal(index: Expr) -> Expr:
    return affine(index).expr
