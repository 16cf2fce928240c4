"""How long calls of a model wait for helpers who sleep: `ragged.kernels.patience`, by nodes and batches."""

from __future__ import annotations

from ragged.ir.expr import Const
from ragged.ir.program import Program
from ragged.ir.stmt import For, Reduce, Stmt, Store
from ragged.ir.walk import children
from ragged.kernels.operations import float_operations
from ragged.kernels.patience import patience_for


class Patience:
    """The patience of calls of one program, in nanoseconds, by their nodes and batches.

    `operations` is how many the program does for a node, see `operations_of`.
    """

    __slots__ = ("_operations", "_threads")

    def __init__(self, operations: int, threads: int) -> None:
        self._operations = operations
        self._threads = threads

    def __call__(self, nodes: int, batches: int) -> int:
        """Return the patience of a call on so many nodes in so many batches; 0 is to do without helpers.

        Workers share the nodes of a batch, so in a chain, whose batches are of one node, there is nothing to gain.
        """
        together = max(1.0, min(self._threads, nodes / batches))
        return patience_for(self._operations * nodes, together)


def operations_of(program: Program) -> int:
    """Return about how many operations a program does for a node.

    `program` is as lowering left it: what a schedule adds does not count as work.
    """
    return _operations(program.kernel)


def _operations(stmt: Stmt) -> int:
    """Return about how many operations a kernel does for a node: of loops that are not constant, one iteration."""
    inner = sum(_operations(child) for child in children(stmt))
    match stmt:
        case For(extent=Const(value=extent)):
            return int(extent) * inner
        case Store() | Reduce():
            return 1 + float_operations(stmt)
        case _:
            return inner
