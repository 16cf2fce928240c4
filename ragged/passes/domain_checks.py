"""Conditions under which every call in an expression has its arguments in the function's domain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ragged.arith.affine import AffineForm, affine
from ragged.ir.build import both, within
from ragged.ir.expr import Binary, Call, Const, Expr, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Rewriter, substitute
from ragged.ir.sites import negated
from ragged.ir.walk import operands


@dataclass(slots=True)
class KnownBounds:
    """Affine forms that are known not to be negative."""

    forms: list[AffineForm] = field(default_factory=list)

    def add(self, condition: Expr) -> None:
        """Note a condition; of one that is no conjunction of comparisons, nothing."""
        if isinstance(condition, Binary) and condition.op is BinaryOp.AND:
            self.add(condition.lhs)
            self.add(condition.rhs)
        else:
            self.forms += _non_negative(condition)

    def copy(self) -> KnownBounds:
        """Return the same bounds, to add others to."""
        return KnownBounds(list(self.forms))

    def imply(self, condition: Expr) -> bool:
        """Return whether a conjunction of comparisons follows, each from two known bounds at most."""
        if isinstance(condition, Binary) and condition.op is BinaryOp.AND:
            return self.imply(condition.lhs) and self.imply(condition.rhs)
        goals = _non_negative(condition)
        return bool(goals) and all(self._imply(goal) for goal in goals)

    def _imply(self, goal: AffineForm) -> bool:
        """Return whether a form is not negative: as it is, or less one known form, or two."""
        rest = [goal, *(goal.plus(form, -1) for form in self.forms)]
        return any(map(_is_never_negative, rest)) or any(
            _is_never_negative(each.plus(form, -1)) for each in rest[1:] for form in self.forms
        )


def is_identity(condition: Expr) -> bool:
    """Return whether a condition holds for all data, with the bodies of functions unfolded."""
    return KnownBounds().imply(_Unfold().expr(condition))


class _Unfold(Rewriter):
    """Puts bodies in the place of the calls of functions that have one."""

    def expr(self, expr: Expr) -> Expr:
        new = super().expr(expr)
        if not isinstance(new, Call) or new.function.body is None:
            return new
        values = {param.var: arg for param, arg in zip(new.function.params, new.args, strict=True)}
        return self.expr(substitute(new.function.body, values))


def _is_never_negative(form: AffineForm) -> bool:
    """Return whether a form is a sum of numbers and sizes, none of which is negative."""
    sizes = (
        isinstance(term, Call) and term.function.is_natural and by > 0 for term, by in form.terms.items()
    )
    return form.constant >= 0 and all(sizes)


def _non_negative(condition: Expr) -> list[AffineForm]:
    """Return the affine forms that are not negative exactly where a comparison holds; none for other conditions."""
    if not isinstance(condition, Binary) or not condition.lhs.dtype.is_int:
        return []
    rise = affine(condition.rhs).plus(affine(condition.lhs), -1)
    fall = AffineForm().plus(rise, -1)
    one = AffineForm(constant=-1)
    match condition.op:
        case BinaryOp.LE:
            return [rise]
        case BinaryOp.LT:
            return [rise.plus(one)]
        case BinaryOp.GE:
            return [fall]
        case BinaryOp.GT:
            return [fall.plus(one)]
        case BinaryOp.EQ:
            return [rise, fall]
        case _:
            return []


def domain_conditions(
    expr: Expr, known: KnownBounds, path: Expr | None = None
) -> Iterator[tuple[Call, Expr]]:
    """Yield the calls that evaluating `expr` may make outside a domain, each with the condition that it does not.

    Calls in arguments come first, and each condition may rely on those before it, which are added to `known`. Bodies of
    functions are unfolded. `path` is the condition under which `expr` is evaluated.
    """
    match expr:
        case Binary(op=BinaryOp.AND | BinaryOp.OR as op, lhs=lhs, rhs=rhs):
            yield from domain_conditions(lhs, known, path)
            yield from _under(lhs if op is BinaryOp.AND else negated(lhs), rhs, known, path)
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            yield from domain_conditions(condition, known, path)
            yield from _under(condition, if_true, known, path)
            yield from _under(negated(condition), if_false, known, path)
        case Call(function=function, args=args):
            for arg in args:
                yield from domain_conditions(arg, known, path)
            values: dict[Var, Expr] = {}
            for param, arg in zip(function.params, args, strict=True):
                extent = substitute(param.extent, values)
                yield from domain_conditions(extent, known, path)
                inside = within(arg, Const(0), extent)
                if not known.imply(inside):
                    known.add(inside)
                    yield expr, inside if path is None else Binary(BinaryOp.OR, negated(path), inside)
                values[param.var] = arg
            if function.body is not None:
                yield from domain_conditions(substitute(function.body, values), known, path)
        case _:
            for operand in operands(expr):
                yield from domain_conditions(operand, known, path)


def _under(condition: Expr, expr: Expr, known: KnownBounds, path: Expr | None) -> Iterator[tuple[Call, Expr]]:
    """Yield the conditions of an expression that is evaluated only where `condition` holds."""
    inner = known.copy()
    inner.add(condition)
    yield from domain_conditions(expr, inner, both(path, condition))
