"""Values that are equal at all nodes of a case, computed when parameters are bound (CORTEX section 4.3, hoisting)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from math import prod

from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor, N, Shape
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case_facts import CaseFacts
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.saved_reduction import Axis, Guards, free_axes
from cortex.ra.lower.translate import ConstantPart
from cortex.ra.lower.zeros import Zeros
from cortex.ra.node import ChildAt, NodeVar
from cortex.ra.tensor import Compute, InputTensor, NodeInput, Placeholder, dense
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
            self._known[tensor] = isinstance(tensor, Compute) and alone and self.is_uniform(tensor.body)
        return self._known[tensor]

    def pays(self, expr: ra.Expr) -> bool:
        """Return whether computing it in advance saves arithmetic: copies of parameters and zeros do not count."""
        arithmetic = (ra.UnaryExpr, ra.BinaryExpr, ra.DenseReduce)
        zero = self.zeros is not None and self.zeros.holds(expr)
        parts = (part for part in subexpressions(expr) if part.dtype.is_float)
        return not zero and any(isinstance(part, arithmetic) for part in parts)

    def is_uniform(self, expr: ra.Expr) -> bool:
        """Return whether an expression has the same value at all nodes of the case."""
        if (self.zeros is not None and self.zeros.holds(expr)) or self.known.constant(expr) is not None:
            return True
        match expr:
            case ra.Read(tensor=Placeholder(default=default), indices=(ChildAt(), *_)):
                return default is not None and self.known.leaf is True
            case ra.Read(tensor=NodeInput() | Placeholder()) | ra.NumChildren() | ra.IsLeaf():
                return False
            case ra.Read(tensor=tensor) if not isinstance(tensor, InputTensor):
                return self.holds(self.resolve(tensor)) and all(map(self.is_uniform, self.operands(expr)))
            case ra.ChildReduce():
                return self.known.leaf is True
            case _:
                return all(map(self.is_uniform, self.operands(expr)))


def uniform_everywhere() -> UniformValues:
    """Return the analysis for all nodes, of which nothing is known."""
    return UniformValues(CaseFacts(), ra.operands, lambda tensor: tensor)


@dataclass
class Constants:
    """Writes the bind stage; `everywhere` holds the constants that all cases share.

    With `of_parts` parts of expressions are among them, not only whole computes.
    """

    buffers: Buffers
    of_parts: bool = False
    everywhere: UniformValues = field(default_factory=uniform_everywhere)
    parts: list[Stmt] = field(default_factory=list)
    _of_exprs: dict[ra.Expr, ConstantPart | None] = field(default_factory=dict)

    def buffer(self, same: UniformValues, compute: Compute, name: str | None = None) -> Buffer:
        """Return the buffer of one row that holds a compute's value in a case, filled when parameters are bound."""
        same = self.everywhere if self.everywhere.holds(compute) else same
        if compute not in same.kept:
            results = partial(self._result, same)
            nests = _Once(self.buffers, same.known, results, Const(0), zeros=same.zeros)
            extents = tuple(Const(index.extent) for index in compute.indices)
            name = name or f"{self.buffers.model.names[compute]}_once"
            target = self.buffers.bound(name, compute.dtype, extents)
            filled = nests.compute(compute, target)
            same.kept[compute] = target
            self.parts.append(filled)
        return same.kept[compute]

    def of_expr(self, expr: ra.Expr, guards: Guards) -> ConstantPart | None:
        """Return where an expression of parameters alone is, if it is worth the memory that it takes.

        It takes no more elements than the largest tensor it reads. Where a guard depends on indices, it might be
        evaluated at indices that the guard excludes: there it is none.
        """
        if not self.of_parts or any(True for condition, _ in guards for _ in free_axes(condition)):
            return None
        if expr not in self._of_exprs:
            self._of_exprs[expr] = self._part(expr) if self._is_part(expr) else None
        return self._of_exprs[expr]

    def _is_part(self, expr: ra.Expr) -> bool:
        read = [part.tensor for part in subexpressions(expr) if isinstance(part, ra.Read)]
        if not read or not expr.dtype.is_float or not self.everywhere.is_uniform(expr):
            return False
        elements = prod(axis.extent for axis in _indices(expr))
        return elements <= max(prod(dense(tensor)) for tensor in read) and self.everywhere.pays(expr)

    def _part(self, expr: ra.Expr) -> ConstantPart:
        axes = _indices(expr)
        shape: Shape = (N, *(axis.extent for axis in axes))
        compute = Compute("", shape, expr.dtype, NodeVar("n"), None, axes, expr, calls=False, at=expr.at)
        return ConstantPart(self.buffer(self.everywhere, compute, "constant"), axes)

    def _result(self, same: UniformValues, tensor: ModelTensor) -> Buffer:
        source = same.resolve(tensor)
        assert isinstance(source, Compute)
        return self.buffer(same, source)


def _indices(expr: ra.Expr) -> tuple[ra.IndexVar, ...]:
    """Return the indices that an expression depends on, in the order in which it names them first."""
    return tuple(dict.fromkeys(axis for axis in free_axes(expr) if isinstance(axis, ra.IndexVar)))


@dataclass
class _Once(Nests):
    """Writes the nests of a compute with one value for all nodes."""

    def accumulator(self, reduction: ra.Reduction, axes: tuple[Axis, ...], name: str) -> Buffer:
        extents = tuple(Const(axis.extent) for axis in axes if isinstance(axis, ra.IndexVar))
        return self.buffers.bound(name, reduction.dtype, extents)
