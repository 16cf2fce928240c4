"""The inverse of an access: the iterations of a statement that read one element of a tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragged.arith.affine import AffineForm, affine
from ragged.arith.fold import FoldedSubstitution, floordiv, modulo, plus
from ragged.ir.expr import Binary, Call, Const, Expr, Load, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.walk import mentions, subexpressions, variables
from ragged.tc.checked import IndexRange, varying_with
from ragged.tc.ranges import difference


@dataclass
class AccessInverse:
    """The iterations in `ranges` at which the indices of `load` are those of `element`, which have ranges too.

    `values` has the indices of the iterations that follow from the element, `summed` are those that take all values of
    their ranges, and `conditions` are what else has to hold, each with the index that it is about, or None.
    `numerators` are values before the division by a factor. So `x(2 * h + p)` is read at element `i` where
    `h = (i - p) / 2`, `(i - p) % 2 == 0` and h is in its range, for each p.

    `x(h / 2)` is read at element `i` where `h = 2 * i + r`, for each r in 0:2, an index that is added to `ranges`.

    An index that is a multiple plus one of exactly so many values, `2 * h + p` with p in 0:2, has both as quotient and
    remainder. Of several indices that could follow, one of the left side does, as the loops of the right side are
    the shorter ones in convolutions. An index does not follow where the ranges of those that it would follow from vary
    with it, nor where lengths are read at it and the element's index has another range: these are summed, each
    iteration under the condition that its index is the element's.
    """

    load: Load
    element: Mapping[Var, IndexRange]
    ranges: Mapping[Var, IndexRange]
    left: Sequence[Var]
    values: dict[Var, Expr] = field(default_factory=dict)
    conditions: list[tuple[Var | None, Expr]] = field(default_factory=list)
    numerators: dict[Var, tuple[Expr, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pending = list(zip(self.element, self.load.indices, strict=True))
        while pending:
            chosen = next((each for each in pending if self._plain(*each)), None)
            chosen = chosen or next((each for each in pending if self._solve(*each)), None)
            if chosen is None:
                break
            pending.remove(chosen)
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

    def _plain(self, place: Var, index: Expr) -> bool:
        """Take the value of an index that stands alone."""
        if not isinstance(index, Ref) or index.var not in self.ranges or index.var in self.values:
            return False
        if self._has_lengths(index.var) and self.element[place] != self.ranges[index.var]:
            return False
        self._follows(index.var, Ref(place))
        return True

    def _solve(self, place: Var, index: Expr) -> bool:
        """Take the value of an index from that of the element; return whether there is one."""
        form = affine(self.at(index))
        if self._divided(place, form):
            return True
        inside = {part for term in form.terms if not isinstance(term, Ref) for part in subexpressions(term)}
        free = [
            term
            for term in form.terms
            if isinstance(term, Ref) and term.var in self.summed and term not in inside
        ]
        free = [
            each
            for each in free
            if not self._has_lengths(each.var)
            and not varying_with({each.var}, self.ranges) & variables(form.plus(form.only([each]), -1).expr)
        ]
        free.sort(key=lambda term: (term.var not in self.left, abs(form.terms[term])))
        if not free or any(isinstance(part, Load) for part in inside):
            return False
        return self._quotient(place, form, free) or self._single(place, form, free[0])

    def _divided(self, place: Var, form: AffineForm) -> bool:
        """Take the value of an index that is divided by a number, as `(h + 1) / 2`, from a new one of remainders."""
        quotients = [term for term in form.terms if not isinstance(term, Ref)]
        match quotients:
            case [Binary(op=BinaryOp.FLOORDIV, lhs=lhs, rhs=Const(value=by)) as term] if by > 1:
                inner = affine(lhs)
            case _:
                return False
        free = [each for each in inner.terms if isinstance(each, Ref) and each.var in self.summed]
        outside = form.plus(form.only([term]), -1)
        known = not any(isinstance(each, Ref) and each.var in self.summed for each in outside.terms)
        if form.terms[term] != 1 or not known or len(free) != 1 or inner.terms[free[0]] != 1:
            return False
        if any(mentions(each, (free[0].var,)) for each in inner.terms if each != free[0]):
            return False
        (var,) = (each.var for each in free)
        if self._has_lengths(var) or varying_with({var}, self.ranges) != {var}:
            return False
        remainder = Var(var.name)
        self.ranges = {**self.ranges, remainder: IndexRange(Const(0), Const(int(by)))}
        multiple = AffineForm({Ref(place): 1}).plus(outside, -1)
        rest = inner.plus(inner.only(free), -1)
        number = AffineForm({Ref(remainder): 1}).plus(multiple, int(by)).plus(rest, -1)
        self._follows(var, number.expr)
        return True

    def _quotient(self, place: Var, form: AffineForm, free: Sequence[Ref]) -> bool:
        """Take a multiple and a rest that is smaller than its factor as quotient and remainder."""
        for multiple in free:
            by = form.terms[multiple]
            for rest in free:
                own = self.ranges[rest.var]
                count = difference(own.upper, own.lower)
                if by > 1 and form.terms[rest] == 1 and count == Const(by):
                    both = form.only([multiple, rest])
                    whole = AffineForm({Ref(place): 1}).plus(form.plus(both, -1), -1)
                    number = whole.plus(affine(own.lower), -1).expr
                    self._follows(multiple.var, floordiv(number, by))
                    self.values[rest.var] = plus(modulo(number, by), own.lower)
                    return True
        return False

    def _single(self, place: Var, form: AffineForm, term: Ref) -> bool:
        by = form.terms[term]
        rest = form.plus(form.only([term]), -1)
        number = AffineForm({Ref(place): 1}).plus(rest, -1)
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


def _normal(index: Expr) -> Expr:
    return affine(index).expr
