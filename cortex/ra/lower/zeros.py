"""Expressions that are zero in a case: the empty sum over children, and its products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor
from cortex.ra.node import ChildAt
from cortex.ra.tensor import Compute, InputTensor, Placeholder
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp


@dataclass
class Zeros:
    """Finds the expressions that are zero wherever a case holds (CORTEX section 4.3, constant propagation).

    A product with zero is zero if the other side is finite. That is assumed of parameters, which are added to `finite`
    for the check at binding, and of nothing else.

    `truth` gives the value of a condition in the case, None if open; `resolve` follows branches to the tensor that is
    computed; `childless` says that nodes of the case have no children.
    """

    truth: Callable[[ra.Expr], bool | None]
    resolve: Callable[[ModelTensor], ModelTensor] = lambda tensor: tensor
    childless: bool = False
    finite: set[InputTensor] = field(default_factory=set)
    _known: dict[ra.Expr, bool] = field(default_factory=dict)

    def holds(self, expr: ra.Expr) -> bool:
        """Return whether `expr` is zero at every node of the case."""
        if expr not in self._known:
            self._known[expr] = expr.dtype.is_float and self._holds(expr)
        return self._known[expr]

    def _holds(self, expr: ra.Expr) -> bool:
        match expr:
            case ra.Literal(value=value):
                return value == 0
            case ra.Read(tensor=Placeholder(default=default), indices=(ChildAt(), *_)):
                return self.childless and default == 0
            case ra.Read(tensor=tensor):
                source = self.resolve(tensor)
                return isinstance(source, Compute) and self.holds(source.body)
            case ra.UnaryExpr(op=UnaryOp.NEG, operand=operand):
                return self.holds(operand)
            case ra.BinaryExpr(op=BinaryOp.ADD | BinaryOp.SUB, lhs=lhs, rhs=rhs):
                return self.holds(lhs) and self.holds(rhs)
            case ra.BinaryExpr(op=BinaryOp.MUL, lhs=lhs, rhs=rhs):
                return any(self.holds(a) and self._finite(b) for a, b in ((lhs, rhs), (rhs, lhs)))
            case ra.Where(condition=condition, if_true=if_true, if_false=if_false):
                way = self.truth(condition)
                branches = (if_true, if_false) if way is None else ((if_true if way else if_false),)
                return all(map(self.holds, branches))
            case ra.DenseReduce(combiner=Combiner.SUM, body=body):
                return self.holds(body)
            case ra.ChildReduce(combiner=Combiner.SUM, body=body):
                return self.childless or self.holds(body)
            case _:
                return False

    def _finite(self, expr: ra.Expr) -> bool:
        match expr:
            case ra.Read(tensor=InputTensor() as tensor):
                self.finite.add(tensor)
                return True
            case ra.Literal(value=value):
                return value - value == 0
            case _:
                return self.holds(expr)
