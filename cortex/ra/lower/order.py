"""The order in which a case's tensors are computed: independent reductions become adjacent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor
from cortex.ra.tensor import Compute

Operands = Callable[[ra.Expr], Iterable[ra.Expr]]
"""The operands of an expression that are evaluated in a case."""
_Key = tuple[int, bool]


def adjacent_reductions(
    tensors: Sequence[ModelTensor], operands: Operands, resolve: Callable[[ModelTensor], ModelTensor]
) -> list[ModelTensor]:
    """Return `tensors`, each after what it reads, with the sums of products that need nothing of each other together.

    A tensor's depth is how many dense reductions, one reading another's result, lie before it. Those of one depth
    follow each other, reductions first: gates of a cell become neighbours, and what finishes them comes after.
    """
    keys: dict[ModelTensor, _Key] = {}
    for tensor in tensors:
        sources = [(keys[resolve(r)], inside) for r, inside in _reads(tensor, operands) if resolve(r) in keys]
        depth = max((source[0] + inside for source, inside in sources), default=0)
        finishes = not _reduces(tensor, operands) or any(source == (depth, True) for source, _ in sources)
        keys[tensor] = (depth, finishes)
    return sorted(tensors, key=lambda tensor: keys[tensor])


def _reduces(tensor: ModelTensor, operands: Operands) -> bool:
    return isinstance(tensor, Compute) and any(
        isinstance(expr, ra.DenseReduce) for expr, _ in _within(tensor.body, operands, inside=False)
    )


def _reads(tensor: ModelTensor, operands: Operands) -> Iterator[tuple[ModelTensor, bool]]:
    """Yield what a tensor reads, and whether within a dense reduction."""
    if isinstance(tensor, Compute):
        for expr, inside in _within(tensor.body, operands, inside=False):
            if isinstance(expr, ra.Read):
                yield expr.tensor, inside


def _within(expr: ra.Expr, operands: Operands, *, inside: bool) -> Iterator[tuple[ra.Expr, bool]]:
    yield expr, inside
    inside = inside or isinstance(expr, ra.DenseReduce)
    for operand in operands(expr):
        yield from _within(operand, operands, inside=inside)
