"""How long calls of a model wait for helpers who sleep: `ragged.compiled.spin_time`, by nodes and batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ragged.compiled.operations import float_operations
from ragged.compiled.spin_time import spin_time_ns
from ragged.ir.expr import Const
from ragged.ir.program import Program
from ragged.ir.stmt import For, Reduce, Stmt, Store
from ragged.ir.walk import children

_KEPT = 4096
"""For so many pairs of nodes and batches the spin_ns is remembered: to compute it takes longer than to look it up."""


def spin_time_by_batch(operations: int, threads: int, *, columns: bool) -> Callable[[int, int], int]:
    """Return what gives the spin_ns of calls of one program, in nanoseconds, by their nodes and batches.

    0 is to do without helpers. `operations` is how many the program does for a node, see `operations_of`; `columns`
    says whether workers share the columns of a batch or its nodes. Workers that share the nodes gain nothing in a
    chain, whose batches are of one node. Those that share columns do, if a node is worth their meeting at it.
    """

    @lru_cache(_KEPT)
    def spin_ns(nodes: int, batches: int) -> int:
        together = threads if columns else max(1.0, min(threads, nodes / max(1, batches)))
        return spin_time_ns(operations * nodes, together, batches)

    return spin_ns


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
