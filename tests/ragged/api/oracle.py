"""What ragged operators mean: each element by itself, in float64, straight from what the user wrote."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ragged.api.tensors import Kind, RaggedTensor, Reduction
from ragged.ir.elementwise import FUNCTIONS
from ragged.ir.expr import Binary, Buffer, Call, Cast, Const, Expr, Function, Load, Ref, Select, Unary, Var
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp

Index = tuple[int, ...]

UNARY = {
    UnaryOp.NEG: lambda a: -a,
    UnaryOp.NOT: lambda a: not a,
    UnaryOp.ABS: abs,
    FUNCTIONS["exp"]: np.exp,
    FUNCTIONS["tanh"]: math.tanh,
    FUNCTIONS["sqrt"]: math.sqrt,
}
BINARY = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a - b,
    BinaryOp.MUL: lambda a, b: a * b,
    BinaryOp.DIV: lambda a, b: np.float64(a) / b,
    BinaryOp.FLOORDIV: lambda a, b: a // b,
    BinaryOp.MOD: lambda a, b: a % b,
    BinaryOp.MIN: min,
    BinaryOp.MAX: max,
    BinaryOp.LT: lambda a, b: a < b,
    BinaryOp.LE: lambda a, b: a <= b,
    BinaryOp.EQ: lambda a, b: a == b,
    BinaryOp.AND: lambda a, b: a and b,
    BinaryOp.OR: lambda a, b: a or b,
}
FOLD = {Combiner.SUM: lambda a, b: a + b, Combiner.MAX: max, Combiner.MIN: min}


@dataclass
class Oracle:
    """`sizes` by name, `lengths` by the declared function and its arguments, `inputs` by tensor and indices."""

    sizes: Mapping[str, int]
    lengths: Mapping[Function, Mapping[Index, int]]
    inputs: Mapping[RaggedTensor, Mapping[Index, float]]
    known: dict[tuple[RaggedTensor, Index], float] = field(default_factory=dict)

    def space(self, tensor: RaggedTensor) -> Iterator[Index]:
        """Yield the indices of a tensor in row-major order."""
        yield from self._space(tensor, (), {})

    def _space(self, tensor: RaggedTensor, index: Index, scope: dict[Var, int]) -> Iterator[Index]:
        if len(index) == len(tensor.dims):
            yield index
            return
        each = tensor.dims[len(index)]
        for place in range(self.expr(each.extent.expr, {}, scope)):
            yield from self._space(tensor, (*index, place), {**scope, each.dim.var: place})

    def at(self, tensor: RaggedTensor, index: Index) -> float:
        """Return an element of a tensor."""
        if tensor.kind is not Kind.COMPUTED:
            return self.inputs[tensor][index]
        if (tensor, index) not in self.known:
            self.known[tensor, index] = self._compute(tensor, index)
        return self.known[tensor, index]

    def _compute(self, tensor: RaggedTensor, index: Index) -> float:
        scope = dict(zip(tensor.indices, index, strict=True))
        scope |= {each.dim.var: place for each, place in zip(tensor.dims, index, strict=True)}
        reads = {
            s.buffer: s
            for value in tensor.expressions
            for s in value.sources.values()
            if isinstance(s, RaggedTensor)
        }
        if not isinstance(tensor.body, Reduction):
            assert tensor.body is not None
            return self.expr(tensor.body.expr, reads, scope)
        start = tensor.body.combiner.identity
        if tensor.body.init is not None:
            start = self.expr(tensor.body.init.expr, reads, scope)
        return self._fold(tensor.body, 0, reads, scope, start)

    def _fold(
        self, own: Reduction, axis: int, reads: Mapping[Buffer, RaggedTensor], scope: dict, total: float
    ) -> float:
        if axis == len(own.axes):
            return FOLD[own.combiner](total, self.expr(own.body.expr, reads, scope))
        for place in range(self.expr(own.axes[axis].extent.expr, reads, scope)):
            total = self._fold(own, axis + 1, reads, {**scope, own.axes[axis].var: place}, total)
        return total

    def expr(self, expr: Expr, reads: Mapping[Buffer, RaggedTensor], scope: Mapping[Var, int]):
        """Return the value of an expression of the API."""
        match expr:
            case Const(value=value):
                return value
            case Ref(var=var):
                return scope[var]
            case Load(buffer=buffer, indices=indices):
                return self.at(reads[buffer], tuple(self.expr(i, reads, scope) for i in indices))
            case Call(function=function, args=()):
                return self.sizes[function.name]
            case Call(function=function, args=args):
                return self.lengths[function][tuple(self.expr(arg, reads, scope) for arg in args)]
            case Unary(op=op, operand=operand):
                return UNARY[op](self.expr(operand, reads, scope))
            case Binary(op=op, lhs=lhs, rhs=rhs):
                return BINARY[op](self.expr(lhs, reads, scope), self.expr(rhs, reads, scope))
            case Select(condition=condition, if_true=yes, if_false=no):
                return self.expr(yes if self.expr(condition, reads, scope) else no, reads, scope)
            case Cast(operand=operand):
                return self.expr(operand, reads, scope)
            case _:
                raise AssertionError(expr)
