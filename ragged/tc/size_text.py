"""Expressions of sizes and indices as text of the language, for messages and for `where` clauses to paste."""

from __future__ import annotations

from ragged.arith.affine import affine
from ragged.ir.expr import Binary, Cast, Const, Expr, Load, Ref, Select, Unary
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.tc import tree as tc
from ragged.tc.errors import TextPosition
from ragged.tc.text import expression_text

_NOWHERE = TextPosition("", 0, 0)
_OPS = {BinaryOp.FLOORDIV: "/", BinaryOp.AND: "&&", BinaryOp.OR: "||"}


def size_text(expr: Expr) -> str:
    """Return an integer expression or a condition as text of the language."""
    return expression_text(_tree(expr))


def _tree(expr: Expr) -> tc.TcExpression:
    if expr.dtype.is_int and isinstance(expr, Binary | Unary):
        form = affine(expr)
        if len(form.terms) > 1 or expr not in form.terms:
            return _sum([(term, c) for term, c in form.terms.items()], form.constant)
    match expr:
        case Const(value=value):
            return tc.NumberLiteral(value, _NOWHERE)
        case Ref(var=var):
            return tc.Name(var.name, _NOWHERE)
        case Load(buffer=buffer, indices=indices):
            return tc.Access(buffer.name, tuple(map(_tree, indices)), _NOWHERE)
        case Unary(op=UnaryOp.NOT, operand=operand):
            return tc.Prefix("!", _tree(operand), _NOWHERE)
        case Unary(op=op, operand=operand):
            return tc.Access(str(op.value), (_tree(operand),), _NOWHERE)
        case Binary(op=BinaryOp.MIN | BinaryOp.MAX as op, lhs=lhs, rhs=rhs):
            return tc.Access(op.value, (_tree(lhs), _tree(rhs)), _NOWHERE)
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return tc.Infix(_OPS.get(op, op.value), _tree(lhs), _tree(rhs), _NOWHERE)
        case Select(condition=condition, if_true=if_true, if_false=if_false):
            return tc.Conditional(_tree(condition), _tree(if_true), _tree(if_false), _NOWHERE)
        case Cast(operand=operand):
            return _tree(operand)
        case _:
            raise AssertionError(expr)


def _sum(terms: list[tuple[Expr, int]], constant: int) -> tc.TcExpression:
    """Return a sum, what is added before what is subtracted."""
    parts = [(_scaled(term, abs(c)), c > 0) for term, c in sorted(terms, key=lambda pair: pair[1] < 0)]
    if constant or not parts:
        number = tc.NumberLiteral(abs(constant), _NOWHERE), constant >= 0
        parts.insert(0 if constant > 0 and not any(positive for _, positive in parts) else len(parts), number)
    (first, positive), *rest = parts
    total = first if positive else tc.Prefix("-", first, _NOWHERE)
    for part, added in rest:
        total = tc.Infix("+" if added else "-", total, part, _NOWHERE)
    return total


def _scaled(term: Expr, by: int) -> tc.TcExpression:
    tree = _tree(term)
    return tree if by == 1 else tc.Infix("*", tc.NumberLiteral(by, _NOWHERE), tree, _NOWHERE)
