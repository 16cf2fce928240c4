"""Evaluation of what is computed of a whole structure, when its recursion has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from cortex.linearize.reference import StructureNode
from cortex.ra.base import S
from cortex.ra.expr import Expr, NodeReduce, Read
from cortex.ra.node import Handle
from cortex.ra.oracle import arrays
from cortex.ra.oracle.arrays import Value
from cortex.ra.oracle.node import EvaluationScope, NodeRun
from cortex.ra.tensor import Body
from ragged.ir.ops import BinaryOp, Combiner


@dataclass(slots=True)
class StructureRun(NodeRun):
    """The tensors of one structure, `nodes` in post-order; `node` is any of them, and read for nothing."""

    nodes: list[StructureNode] = field(default_factory=list)
    runs: dict[StructureNode, AfterRun] = field(default_factory=dict)

    def at(self, node: StructureNode) -> AfterRun:
        """Return the tensors of one of the nodes."""
        if node not in self.runs:
            self.runs[node] = AfterRun(self.parameters, self.payload, self.results, node, whole=self)
        return self.runs[node]

    def value(self, expr: Expr, scope: EvaluationScope) -> Value:
        """Return an expression's value in a scope."""
        match expr:
            case NodeReduce():
                result: Value = expr.combiner.identity
                combine = arrays.BINARY[BinaryOp.ADD if expr.combiner is Combiner.SUM else BinaryOp.MAX]
                for node in self.nodes:
                    result = combine(result, self.at(node).value(expr.body, scope))
                return result
            case _:
                return NodeRun.value(self, expr, scope)


@dataclass(slots=True)
class AfterRun(NodeRun):
    """The tensors of one node when the recursion has ended: computes may be read at children."""

    whole: StructureRun | None = None

    def _base(self, read: Read, scope: EvaluationScope) -> NDArray[Any]:
        node, whole = read.indices[0], self.whole
        assert whole is not None
        if S in read.tensor.shape and isinstance(read.tensor, Body):
            return whole.tensor(read.tensor)
        if (
            isinstance(read.tensor, Body)
            and isinstance(node, Handle)
            and self._at(node, scope) is not self.node
        ):
            return whole.at(self._at(node, scope)).tensor(read.tensor)
        return NodeRun._base(self, read, scope)
