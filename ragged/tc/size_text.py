"""Expressions of the IR as text of the language: for messages, for `where` clauses to paste, and for gradients."""

from __future__ import annotations

from collections.abc import Mapping

from ragged.arith.affine import affine
from ragged.errors import Location
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Buffer, Call, Cast, Const, Expr, Fma, Load, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.tc import tree as tc
from ragged.tc.text import expression_text

NOWHERE = Location("", 0, 0)
"""The position of what stands in no text yet."""
COMPARED = {BinaryOp.EQ: "", BinaryOp.GE: "at least ", BinaryOp.LE: "at most "}
"""What comes before the right side of a comparison that is told in words."""
_OPS = {BinaryOp.FLOORDIV: "/", BinaryOp.AND: "&&", BinaryOp.OR: "||"}
_TYPES = {DType.FLOAT32: "float", DType.FLOAT64: "double"}


def size_text(expr: Expr) -> str:
    """Return an integer expression or a condition as text of the language."""
    return expression_text(tree_of(expr))


def tree_of(expr: Expr, names: Mapping[Var | Buffer, str] | None = None) -> tc.TcExpression:
    """Return an expression as a tree of the language; symbols without one of `names` keep their own."""
    return _TreeBuilder(names or {}).tree(expr)


class _TreeBuilder:
    def __init__(self, names: Mapping[Var | Buffer, str]) -> None:
        self.names = names

    def tree(self, expr: Expr) -> tc.TcExpression:
        if expr.dtype.is_int and isinstance(expr, Binary | Unary):
            form = affine(expr)
            if len(form.terms) > 1 or expr not in form.terms:
                return self.sum([(term, c) for term, c in form.terms.items()], form.constant)
        match expr:
            case Const(value=value) if value < 0:
                return tc.Prefix("-", tc.NumberLiteral(-value, NOWHERE), NOWHERE)
            case Const(value=value):
                return tc.NumberLiteral(value, NOWHERE)
            case Ref(var=var):
                return tc.Name(self.names.get(var, var.name), NOWHERE)
            case Load(buffer=buffer, indices=indices):
                name = self.names.get(buffer, buffer.name)
                return self.call(name, *indices) if indices else tc.Name(name, NOWHERE)
            case Call(function=function, args=args):
                return self.call(function.name, *args)
            case Unary(op=UnaryOp.NOT | UnaryOp.NEG as op, operand=operand):
                return tc.Prefix("!" if op is UnaryOp.NOT else "-", self.tree(operand), NOWHERE)
            case Unary(op=op, operand=operand):
                return self.call(op.value, operand)
            case Binary(op=BinaryOp.MIN | BinaryOp.MAX as op, lhs=lhs, rhs=rhs):
                return self.call(op.value, lhs, rhs)
            case Binary(op=op, lhs=lhs, rhs=rhs):
                return tc.Infix(_OPS.get(op, op.value), self.tree(lhs), self.tree(rhs), NOWHERE)
            case Fma(a=a, b=b, c=c):
                return self.call("fma", a, b, c)
            case Select(condition=condition, if_true=if_true, if_false=if_false):
                chosen = self.tree(if_true), self.tree(if_false)
                return tc.Conditional(self.tree(condition), *chosen, NOWHERE)
            case Cast(dtype=dtype, operand=operand) if dtype is operand.dtype.computed:
                return self.tree(operand)  # what is stored narrower is computed in this type anyway
            case Cast(dtype=dtype, operand=operand):
                return tc.Conversion(_TYPES.get(dtype, dtype.value), self.tree(operand), NOWHERE)
            case _:
                raise AssertionError(expr)

    def call(self, name: str, *operands: Expr) -> tc.TcExpression:
        return tc.Access(name, tuple(map(self.tree, operands)), NOWHERE)

    def sum(self, terms: list[tuple[Expr, int]], constant: int) -> tc.TcExpression:
        """Return a sum, what is added before what is subtracted."""
        parts = [
            (self.scaled(term, abs(c)), c > 0) for term, c in sorted(terms, key=lambda pair: pair[1] < 0)
        ]
        if constant or not parts:
            number = tc.NumberLiteral(abs(constant), NOWHERE), constant >= 0
            parts.insert(
                0 if constant > 0 and not any(positive for _, positive in parts) else len(parts), number
            )
        (first, positive), *rest = parts
        total = first if positive else tc.Prefix("-", first, NOWHERE)
        for part, added in rest:
            total = tc.Infix("+" if added else "-", total, part, NOWHERE)
        return total

    def scaled(self, term: Expr, by: int) -> tc.TcExpression:
        tree = self.tree(term)
        return tree if by == 1 else tc.Infix("*", tc.NumberLiteral(by, NOWHERE), tree, NOWHERE)
