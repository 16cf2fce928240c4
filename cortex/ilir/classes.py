"""Classes of nodes: what a schedule's specialized checks tell apart within one batch."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.errors import InternalError
from ragged.ir.ops import BinaryOp


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a node has, compared with a number: its integer payload of that name, or None for how many children."""

    payload: str | None
    op: BinaryOp
    value: int

    def __post_init__(self) -> None:
        if not self.op.is_comparison:
            raise InternalError(f"Comparison: '{self.op.value}' compares nothing")

    def holds(self, found: int) -> bool:
        """Return whether it holds of a node that has `found`."""
        match self.op:
            case BinaryOp.EQ:
                return found == self.value
            case BinaryOp.NE:
                return found != self.value
            case BinaryOp.LT:
                return found < self.value
            case BinaryOp.LE:
                return found <= self.value
            case BinaryOp.GT:
                return found > self.value
            case _:
                return found >= self.value

    def __str__(self) -> str:
        """Return it as a user would write it of a node `n`."""
        subject = "num_children(n)" if self.payload is None else f"{self.payload}[n]"
        return f"{subject} {self.op.value} {self.value}"


@dataclass(frozen=True, slots=True)
class NodeClass:
    """The leaves, or the inner nodes, of which all of `conditions` hold."""

    leaf: bool
    conditions: tuple[Comparison, ...]

    def __str__(self) -> str:
        """Return which nodes it is, in words."""
        kind = "leaves" if self.leaf else "inner nodes"
        return (
            f"{kind} with {' and '.join(map(str, self.conditions))}" if self.conditions else f"other {kind}"
        )
