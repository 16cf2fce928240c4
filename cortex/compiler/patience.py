"""How long a call waits for helpers who sleep: as long as it gains by having them."""

from __future__ import annotations

from ragged.ir.expr import Binary, Const, Expr, Fma, Unary
from ragged.ir.program import Program
from ragged.ir.stmt import For, Reduce, Stmt, Store
from ragged.ir.walk import children, expressions, subexpressions

_OPERATIONS_PER_NS = 50.0
"""What one core does of a kernel whose products are tiled in registers."""
_LEAST_NS = 5_000
"""A call that gains less than this does without helpers: calling them and meeting them costs about as much."""
_MOST_NS = 1_000_000
"""Nobody who comes at all takes longer."""


class Patience:
    """The patience of calls of one program, in nanoseconds, by their nodes and batches.

    `operations` is how many the program does for a node, see `operations_of`. A helper who sleeps takes 50 us and
    more to come. Waiting for him no longer than he would save is at worst twice as slow as the best choice, whatever
    he does.
    """

    __slots__ = ("_ns_per_node", "_threads")

    def __init__(self, operations: int, threads: int) -> None:
        self._threads = threads
        self._ns_per_node = operations / _OPERATIONS_PER_NS

    def __call__(self, nodes: int, batches: int) -> int:
        """Return the patience of a call on so many nodes in so many batches; 0 is to do without helpers.

        Workers share the nodes of a batch, so in a chain, whose batches are of one node, there is nothing to gain.
        """
        together = max(1.0, min(self._threads, nodes / batches))
        gain = self._ns_per_node * nodes * (1 - 1 / together)
        return int(min(gain, _MOST_NS)) * (gain >= _LEAST_NS)  # no branch: all calls do the same


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
            return 1 + sum(_count(expr) for expr in expressions(stmt))
        case _:
            return inner


def _count(expr: Expr) -> int:
    counted = (part for part in subexpressions(expr) if isinstance(part, Binary | Unary | Fma))
    return sum(part.dtype.is_float for part in counted)
