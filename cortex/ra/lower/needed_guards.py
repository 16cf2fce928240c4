"""Guards that a reduction needs, and those that only say where its value is used."""

from __future__ import annotations

from cortex.ra import expr as ra
from cortex.ra.lower.saved_reduction import Guards
from cortex.ra.node import Handle
from cortex.ra.tensor import ComputedTensor, InputTensor, Placeholder
from cortex.ra.walk import subexpressions
from ragged.ir.ops import BinaryOp, Combiner


def needed_guards(reduction: ra.Reduction, guards: Guards) -> Guards:
    """Return the guards without the last ones that a sum of products need not have.

    In `where(label[n] > 0.0, sum(j, W[i, j] * h[n, j]), ...)` all that the sum reads is there whatever the label is.
    It is computed at all nodes, where rows of several nodes fill a register tile: that costs less than to leave some
    of them out. Guards that ask about the structure or about indices stay, and so do all around what is read at
    computed indices or from what a node carries: they may say that it is there.
    """
    if not _is_everywhere(reduction):
        return guards
    needed = len(guards)
    while needed and _asks_about_data(guards[needed - 1][0]):
        needed -= 1
    return guards[:needed]


def _is_everywhere(reduction: ra.Reduction) -> bool:
    """Return whether a reduction is a sum of products with a parameter, of elements that all nodes have."""
    if not isinstance(reduction, ra.DenseReduce) or reduction.combiner is not Combiner.SUM:
        return False
    body = reduction.body
    parts = [each for each in subexpressions(body) if not isinstance(each, ra.IndexVar)]
    reads = [each for each in parts if isinstance(each, ra.Read)]
    return (
        isinstance(body, ra.BinaryExpr)
        and body.op is BinaryOp.MUL
        and any(isinstance(each.tensor, InputTensor) for each in reads)
        and all(each.dtype.is_float for each in parts)
        and all(isinstance(each, ra.Read | ra.BinaryExpr | ra.UnaryExpr | ra.Literal) for each in parts)
        and all(map(_is_there, reads))
    )


def _is_there(read: ra.Read) -> bool:
    """Return whether an element is there at all nodes: one of a parameter, or computed at a node or a child."""
    match read.tensor:
        case InputTensor():
            rest = read.indices
        case Placeholder() | ComputedTensor() if isinstance(read.indices[0], Handle):
            rest = read.indices[1:]
        case _:
            return False
    return all(isinstance(index, ra.IndexVar) for index in rest)


def _asks_about_data(condition: ra.Expr) -> bool:
    """Return whether a condition compares what nodes carry or what is computed at them, and nothing else."""
    parts = list(subexpressions(condition))
    return any(isinstance(each, ra.Read) for each in parts) and not any(
        isinstance(each, ra.IsLeaf | ra.NumChildren | ra.IndexVar) for each in parts
    )
