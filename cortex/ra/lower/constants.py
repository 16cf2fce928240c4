"""Values that are equal at all nodes of a case, computed when parameters are bound (CORTEX section 4.3, hoisting)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case_facts import CaseFacts
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.saved_reduction import Axis
from cortex.ra.lower.zeros import Zeros
from cortex.ra.node import ChildAt
from cortex.ra.tensor import Compute, InputTensor, NodeInput, Placeholder
from cortex.ra.walk import subexpressions
from ragged.ir.expr import Buffer, Const
from ragged.ir.stmt import Stmt


@dataclass
class UniformValues:
    """Finds the computes of a case that have the same value at all its nodes; `kept` are their buffers.

    `operands` gives the operands of an expression that are evaluated in the case, `resolve` follows its branches,
    `zeros` its zero expressions.
    """

    known: CaseFacts
    operands: Callable[[ra.Expr], Iterable[ra.Expr]]
    resolve: Callable[[ModelTensor], ModelTensor]
    zeros: Zeros | None = None
    kept: dict[Compute, Buffer] = field(default_factory=dict)
    _known: dict[ModelTensor, bool] = field(default_factory=dict)

    def holds(self, tensor: ModelTensor) -> bool:
        """Return whether a tensor depends on parameters and on the case's known values only."""
        if tensor not in self._known:
            alone = isinstance(tensor, Compute) and tensor.child is None
            self._known[tensor] = isinstance(tensor, Compute) and alone and self._expr(tensor.body)
        return self._known[tensor]

    def pays(self, compute: Compute) -> bool:
        """Return whether computing it in advance saves arithmetic: copies of parameters and zeros do not count."""
        arithmetic = (ra.UnaryExpr, ra.BinaryExpr, ra.DenseReduce)
        zero = self.zeros is not None and self.zeros.holds(compute.body)
        return not zero and any(isinstance(expr, arithmetic) for expr in subexpressions(compute.body))

    def _expr(self, expr: ra.Expr) -> bool:
        if (self.zeros is not None and self.zeros.holds(expr)) or self.known.constant(expr) is not None:
            return True
        match expr:
            case ra.Read(tensor=Placeholder(default=default), indices=(ChildAt(), *_)):
                return default is not None and self.known.leaf is True
            case ra.Read(tensor=NodeInput() | Placeholder()) | ra.NumChildren() | ra.IsLeaf():
                return False
            case ra.Read(tensor=tensor) if not isinstance(tensor, InputTensor):
                return self.holds(self.resolve(tensor)) and all(map(self._expr, self.operands(expr)))
            case ra.ChildReduce():
                return self.known.leaf is True
            case _:
                return all(map(self._expr, self.operands(expr)))


def uniform_everywhere() -> UniformValues:
    """Return the analysis for all nodes, of which nothing is known."""
    return UniformValues(CaseFacts(), ra.operands, lambda tensor: tensor)


@dataclass
class Constants:
    """Writes the bind stage; `everywhere` holds the constants that all cases share."""

    buffers: Buffers
    everywhere: UniformValues = field(default_factory=uniform_everywhere)
    parts: list[Stmt] = field(default_factory=list)

    def buffer(self, same: UniformValues, compute: Compute) -> Buffer:
        """Return the buffer of one row that holds a compute's value in a case, filled when parameters are bound."""
        same = self.everywhere if self.everywhere.holds(compute) else same
        if compute not in same.kept:
            nests = _Once(self.buffers, same.known, lambda t: self._result(same, t), Const(0), same.zeros)
            extents = tuple(Const(index.extent) for index in compute.indices)
            target = self.buffers.bound(f"{self.buffers.model.names[compute]}_once", compute.dtype, extents)
            filled = nests.compute(compute, target)
            same.kept[compute] = target
            self.parts.append(filled)
        return same.kept[compute]

    def _result(self, same: UniformValues, tensor: ModelTensor) -> Buffer:
        source = same.resolve(tensor)
        assert isinstance(source, Compute)
        return self.buffer(same, source)


@dataclass
class _Once(Nests):
    """Writes the nests of a compute with one value for all nodes."""

    def accumulator(self, reduction: ra.Reduction, axes: tuple[Axis, ...], name: str) -> Buffer:
        extents = tuple(Const(axis.extent) for axis in axes if isinstance(axis, ra.IndexVar))
        return self.buffers.bound(name, reduction.dtype, extents)
