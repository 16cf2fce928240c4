"""Proofs by linear arithmetic, without the solver: most goals follow from the loops and conditions around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from math import prod
from typing import TypeAlias

from ragged.arith.affine import affine
from ragged.arith.intervals import INVERSE
from ragged.arith.refute import Form, plus, refuted
from ragged.errors import InternalError
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Call, Cast, Const, Expr, Load, Ref, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import subexpressions
from ragged.prove.question import Question

_MOST_CASES = 16
"""The most cases of a condition, or of a whole question, that are examined."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A conjunction: linear forms that are zero, and forms that are not negative (`positive`)."""

    equal: tuple[Form, ...] = ()
    positive: tuple[Form, ...] = ()


_Cases: TypeAlias = list[_Case]
"""A disjunction: at least one case holds."""

_COMPARED: dict[BinaryOp, Callable[[Form], _Cases]] = {
    # of `a op b`, by `a - b`
    BinaryOp.EQ: lambda d: [_Case(equal=(d,))],
    BinaryOp.NE: lambda d: [_Case(positive=(_less(d),)), _Case(positive=(_more(d),))],
    BinaryOp.LT: lambda d: [_Case(positive=(_less(d),))],
    BinaryOp.LE: lambda d: [_Case(positive=(_minus(d),))],
    BinaryOp.GT: lambda d: [_Case(positive=(_more(d),))],
    BinaryOp.GE: lambda d: [_Case(positive=(d,))],
}


def _minus(form: Form) -> Form:
    return {unknown: -coefficient for unknown, coefficient in form.items()}


def _less(form: Form) -> Form:
    return plus(_minus(form), {0: -1})


def _more(form: Form) -> Form:
    return plus(form, {0: -1})


def follows(question: Question) -> bool:
    """Return True if the goal is proven from its loops, lets and conditions, for all values of functions and buffers.

    Whatever is not linear, and everything but comparisons of integers, counts as unknown: what is proven here, the
    solver can prove without any fact.
    """
    about, forms = question.about, _Forms()
    held = [(condition, True) for condition in about.conditions]
    held += [(Binary(BinaryOp.EQ, Ref(var), value), True) for var, value in about.lets if var.dtype.is_int]
    try:
        parts = forms.parts([(question.goal, False)])
        bounds = [form for var, extent in about.loops for form in forms.range(Ref(var), extent)]
        if _impossible(
            _certain(parts, bounds)
        ):  # places told apart by the loops around them need nothing else
            return True
        parts += forms.parts(held)
    except _TooManyError:
        return False
    always = _certain(parts, [*bounds, *forms.known()])
    if _impossible(always):  # what falls into cases is looked at only where it must be
        return True
    possible = [
        [case for case in part if not _impossible(_both(always, case))] for part in parts if len(part) != 1
    ]
    if not possible or prod(map(len, possible)) > _MOST_CASES:
        return False
    return all(_impossible(reduce(_both, chosen, always)) for chosen in product(*possible))


def _certain(parts: Iterable[_Cases], bounds: Iterable[Form]) -> _Case:
    """Return what holds in every case: forms that are not negative, and each part that falls into one case."""
    return reduce(_both, (part[0] for part in parts if len(part) == 1), _Case((), tuple(bounds)))


def _impossible(case: _Case) -> bool:
    return refuted(case.equal, case.positive)


def _parts(condition: Expr, *, holds: bool) -> Iterator[tuple[Expr, bool]]:
    """Yield the conjuncts, each with its truth value, that a condition (or its negation) consists of."""
    match condition:
        case Unary(op=UnaryOp.NOT, operand=operand):
            yield from _parts(operand, holds=not holds)
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op) if (op is BinaryOp.AND) is holds:
            yield from _parts(condition.lhs, holds=holds)
            yield from _parts(condition.rhs, holds=holds)
        case _:
            yield condition, holds


class _TooManyError(InternalError):
    """There are more cases than are examined."""


@dataclass
class _Forms:
    """Numbers the unknowns of one question, and makes forms of expressions and cases of conditions."""

    numbers: dict[Expr, int] = field(default_factory=dict)

    def parts(self, held: Iterable[tuple[Expr, bool]]) -> list[_Cases]:
        """Return the cases of each part of conditions that hold, or do not."""
        return [
            self.cases(part, holds=holds)
            for condition, whether in held
            for part, holds in _parts(condition, holds=whether)
        ]

    def cases(self, condition: Expr, *, holds: bool) -> _Cases:
        """Return the cases in which a condition holds, or does not; one that says nothing if it is not understood."""
        match condition:
            case Const(value=value, dtype=DType.BOOL):
                return [_Case()] if bool(value) is holds else []
            case Unary(op=UnaryOp.NOT, operand=operand):
                return self.cases(operand, holds=not holds)
            case Binary(op=BinaryOp.AND | BinaryOp.OR as op, lhs=lhs, rhs=rhs):
                parts = [self.cases(each, holds=holds) for each in (lhs, rhs)]
                if (op is BinaryOp.AND) is not holds:
                    return _limited([*parts[0], *parts[1]])
                return _limited(_both(one, other) for one, other in product(*parts))
            case Binary(op=op, lhs=lhs, rhs=rhs) if op in _COMPARED and lhs.dtype.is_int:
                a, b = self.form(lhs), self.form(rhs)
                if a is None or b is None:
                    return [_Case()]
                return _COMPARED[op if holds else INVERSE[op]](plus(a, b, -1))
            case _:
                return [_Case()]

    def range(self, index: Expr, extent: Expr) -> Iterator[Form]:
        """Yield forms that are not negative: 0 <= index < extent, and of a least extent, of all that it is least of.

        So the index has a constant bound where one of those is constant, and is told apart from rows by that.
        """
        low = self.form(index)
        if low is None:
            return
        yield low
        for each in _least_of(extent):
            high = self.form(each)
            if high is not None:
                yield plus(plus(high, low, -1), {0: -1})

    def form(self, expr: Expr) -> Form | None:
        """Return an integer expression as a form; None if a part of it is not the same wherever it is equal."""
        return self._stable(expr) if _is_stable(expr) else None

    def _stable(self, expr: Expr) -> Form:
        """Return an integer expression, all parts of which are the same wherever they are equal, as a form."""
        found = affine(expr)
        form = {0: found.constant} if found.constant else {}
        for term, coefficient in found.terms.items():
            form[self.numbers.setdefault(term, len(self.numbers) + 1)] = coefficient
        return form

    def known(self) -> Iterator[Form]:
        """Yield forms that are not negative whatever the unknowns in terms are: sizes, quotients, remainders..

        A part of what is stable is stable.
        """
        seen = 0
        while seen < len(self.numbers):  # what is said of a term may bring in others
            term = list(self.numbers)[seen]
            seen += 1
            own = {self.numbers[term]: 1}
            match term:
                case Call(function=function) if function.is_natural:
                    yield own
                case Binary(op=BinaryOp.MOD, rhs=Const(value=by)) if by > 0:
                    yield own
                    yield {self.numbers[term]: -1, 0: int(by) - 1}
                case Binary(op=BinaryOp.FLOORDIV, lhs=lhs, rhs=Const(value=by)) if by > 0:
                    rest = plus(self._stable(lhs), own, -int(by))
                    yield rest
                    yield plus(_minus(rest), {0: int(by) - 1})
                case Binary(op=BinaryOp.MIN | BinaryOp.MAX as op, lhs=lhs, rhs=rhs):
                    for side in (lhs, rhs):
                        more = plus(self._stable(side), own, -1)
                        yield more if op is BinaryOp.MIN else _minus(more)
                case _:
                    pass


def _both(one: _Case, other: _Case) -> _Case:
    return _Case((*one.equal, *other.equal), (*one.positive, *other.positive))


def _limited(cases: Iterable[_Case]) -> _Cases:
    found = list(cases)
    if len(found) > _MOST_CASES:
        raise _TooManyError("more cases than are looked at")
    return found


def _least_of(extent: Expr) -> Iterator[Expr]:
    """Yield what an extent is the minimum of, if it is one; of another extent itself."""
    match extent:
        case Binary(op=BinaryOp.MIN, lhs=lhs, rhs=rhs):
            yield from _least_of(lhs)
            yield from _least_of(rhs)
        case _:
            yield extent


def _is_stable(expr: Expr) -> bool:
    """Return whether all that equals the expression has its value: nothing in it is loaded, a float, or cut off."""
    return not any(
        isinstance(part, Load | Cast) or part.dtype.is_float or part.dtype is DType.BFLOAT16X2
        for part in subexpressions(expr)
    )
