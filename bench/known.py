"""What expressions of a model are known to be at a kind of node, whatever its parameters and children."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import assert_never

from cortex.ra.expr import (
    BinaryExpr,
    ChildReduce,
    DenseReduce,
    Expr,
    IndexVar,
    IsLeaf,
    Literal,
    NodeReduce,
    NumChildren,
    Read,
    ToFloat,
    UnaryExpr,
    Where,
)
from cortex.ra.tensor import Compute, IfThenElse, NodeInput, Placeholder
from ragged.ir.elementwise import FUNCTIONS, Elementwise
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp

_BINARY: dict[BinaryOp, Callable[[float, float], float]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.LT: operator.lt,
    BinaryOp.LE: operator.le,
    BinaryOp.GT: operator.gt,
    BinaryOp.GE: operator.ge,
    BinaryOp.EQ: operator.eq,
    BinaryOp.NE: operator.ne,
}
_UNARY: dict[UnaryOp | Elementwise, Callable[[float], float]] = {
    UnaryOp.NEG: operator.neg,
    UnaryOp.ABS: abs,
    FUNCTIONS["tanh"]: math.tanh,
    UnaryOp.NOT: operator.not_,
}


class Known:
    """Constants at leaves or at inner nodes: `carries` says whether these nodes have the model's payloads."""

    def __init__(self, *, leaf: bool, carries: bool) -> None:
        self._leaf, self._carries = leaf, carries
        self._values: dict[int, float | None] = {}  # by identity: `==` of expressions is an expression

    def value(self, expr: Expr) -> float | None:
        """Return what `expr` is at every such node and index, or None if that depends."""
        if id(expr) not in self._values:
            self._values[id(expr)] = self._find(expr)
        return self._values[id(expr)]

    def _find(self, expr: Expr) -> float | None:
        match expr:
            case Literal(value=value):
                return value
            case IndexVar():
                return None
            case Read():
                return self._read(expr)
            case ToFloat(operand=operand):
                return self.value(operand)
            case UnaryExpr(op=op, operand=operand):
                known = self.value(operand)
                return None if known is None or op not in _UNARY else _UNARY[op](known)
            case BinaryExpr(op=op, lhs=lhs, rhs=rhs):
                return _combine(op, self.value(lhs), self.value(rhs))
            case Where(condition=condition, if_true=if_true, if_false=if_false):
                taken = self.value(condition)
                return None if taken is None else self.value(if_true if taken else if_false)
            case DenseReduce(combiner=combiner, body=body):
                zero = combiner is Combiner.SUM and self.value(body) == 0
                return 0.0 if zero else None
            case ChildReduce(combiner=combiner, body=body):
                if combiner is Combiner.SUM and (self._leaf or self.value(body) == 0):
                    return 0.0
                return None
            case NodeReduce():
                return None
            case IsLeaf():
                return float(self._leaf)
            case NumChildren():
                return 0.0 if self._leaf else None
            case _:
                assert_never(expr)

    def branch(self, tensor: IfThenElse) -> Compute | IfThenElse:
        """Return the side that is computed at these nodes; `ValueError` if it is not the same for all of them."""
        taken = self.value(tensor.condition)
        if taken is None:
            raise ValueError(f"what '{tensor.name}' is depends on more than whether a node is a leaf")
        side = tensor.then if taken else tensor.orelse
        assert isinstance(side, Compute | IfThenElse)
        return side

    def _read(self, read: Read) -> float | None:
        match read.tensor:
            case NodeInput(default=default) if not self._carries:
                return default
            case Placeholder(default=default) if self._leaf:
                return default
            case Compute(body=body):
                return self.value(body)
            case IfThenElse() as choice:
                chosen = self.branch(choice)
                return self.value(chosen.body) if isinstance(chosen, Compute) else None
            case _:
                return None


def _combine(op: BinaryOp, lhs: float | None, rhs: float | None) -> float | None:
    if op is BinaryOp.MUL and 0 in (lhs, rhs):
        return 0.0
    if lhs is None or rhs is None or op not in _BINARY:
        return None
    return _BINARY[op](lhs, rhs)
