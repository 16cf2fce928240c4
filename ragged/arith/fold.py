"""Index arithmetic with constants folded."""

from __future__ import annotations

from ragged.ir.dtype import INDEX
from ragged.ir.expr import Binary, Const, Expr, Ref
from ragged.ir.ops import BinaryOp
from ragged.ir.rewrite import Substitution

ZERO, ONE = Const(0), Const(1)


def plus(a: Expr, b: Expr) -> Expr:
    """Return `a + b`."""
    match a, b:
        case Const(value=x), Const(value=y):
            return Const(int(x) + int(y))
        case Const(value=0), _:
            return b
        case _, Const(value=0):
            return a
        case (
            Binary(
                op=BinaryOp.MUL,
                lhs=Binary(op=BinaryOp.FLOORDIV, lhs=whole, rhs=Const(value=x)),
                rhs=Const(value=y),
            ),
            Binary(op=BinaryOp.MOD, lhs=again, rhs=Const(value=z)),
        ) if x == y == z and whole == again:
            return whole
        case _:
            return Binary(BinaryOp.ADD, a, b)


def times(a: Expr, b: Expr) -> Expr:
    """Return `a * b`; a constant ends up on the right."""
    match a, b:
        case Const(value=x), Const(value=y):
            return Const(int(x) * int(y))
        case Const(), _:
            return times(b, a)
        case _, Const(value=1):
            return a
        case _, Const(value=0):
            return ZERO
        case Binary(op=BinaryOp.MUL, lhs=lhs, rhs=Const(value=x)), Const(value=y) if abs(x * y) < 2**63:
            return times(lhs, Const(int(x) * int(y)))
        case _:
            return Binary(BinaryOp.MUL, a, b)


def floordiv(a: Expr, by: int) -> Expr:
    """Return `a // by`, rounded toward minus infinity; `by` is positive."""
    match a:
        case Const(value=x):
            return Const(int(x) // by)
        case _ if by == 1:
            return a
        case Binary(op=BinaryOp.MUL, lhs=lhs, rhs=Const(value=x)) if int(x) % by == 0:
            return times(lhs, Const(int(x) // by))
        case _:
            return Binary(BinaryOp.FLOORDIV, a, Const(by))


def modulo(a: Expr, by: int) -> Expr:
    """Return `a % by`, which is never negative; `by` is positive."""
    match a:
        case Const(value=x):
            return Const(int(x) % by)
        case Binary(op=BinaryOp.MUL, rhs=Const(value=x)) if int(x) % by == 0:
            return ZERO
        case _ if by == 1:
            return ZERO
        case _:
            return Binary(BinaryOp.MOD, a, Const(by))


def at_least_zero(a: Expr) -> Expr:
    """Return `max(a, 0)`."""
    return Const(max(int(a.value), 0)) if isinstance(a, Const) else Binary(BinaryOp.MAX, a, ZERO)


class FoldedSubstitution(Substitution):
    """Substitutes expressions for variables and folds the sums and products of indices around them."""

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression."""
        new = super().expr(expr)
        if isinstance(expr, Ref) or not isinstance(new, Binary) or new.dtype is not INDEX:
            return new
        match new.op:
            case BinaryOp.ADD:
                return plus(new.lhs, new.rhs)
            case BinaryOp.MUL:
                return times(new.lhs, new.rhs)
            case _:
                return new
