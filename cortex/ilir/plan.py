"""What a compiled model asks of the structures that it is given: the linearizer's plan.

A plan says which structures are legal (kind, arity), which payloads their nodes carry, and which arrays
the kernel reads. `cortex.linearize` makes those arrays from structures and refuses what the plan does not
allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ragged.errors import InternalError
from ragged.ir.dtype import DType


class StructureKind(Enum):
    """What a structure may look like: each node below a root has one parent, any number, or is in a chain."""

    TREE = "tree"
    DAG = "dag"
    SEQUENCE = "sequence"


class Presence(Enum):
    """The nodes that must carry a payload; a node that need not carry it reads as the payload's default."""

    NOWHERE = "nowhere"
    LEAVES = "leaves"
    INNER = "inner"
    ALL = "all"

    def at(self, leaf: bool) -> bool:
        """Whether a leaf, or else an inner node, must carry the payload."""
        return self is Presence.ALL or self is (Presence.LEAVES if leaf else Presence.INNER)


@dataclass(frozen=True, slots=True)
class Payload:
    """One value that nodes carry under `name`: `shape` elements of `dtype`, () for a scalar.

    `default` stands where a node does not carry it and need not (-1 for words, 0.0 for vectors). `range` is
    given for integers that index a table: lo <= value < hi; the default is allowed too where it is not
    required.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    required: Presence
    default: int | float
    range: tuple[int, int] | None

    def __str__(self) -> str:
        """Return the payload's declaration in words: `word: int32 in [0, 10), carried by leaves, else -1`."""
        shape = "" if not self.shape else str(list(self.shape))
        within = "" if self.range is None else f" in [{self.range[0]}, {self.range[1]})"
        carriers = {
            Presence.NOWHERE: "may be missing",
            Presence.LEAVES: "carried by leaves",
            Presence.INNER: "carried by inner nodes",
            Presence.ALL: "carried by all nodes",
        }
        other = "" if self.required is Presence.ALL else f", else {self.default}"
        return f"{self.name}: {self.dtype.value}{shape}{within}, {carriers[self.required]}{other}"

    def __post_init__(self) -> None:
        if self.dtype is DType.BOOL:
            raise InternalError(f"Payload: {self.name!r} is of dtype bool, which nodes cannot carry")
        if self.range is not None and not self.dtype.is_int:
            raise InternalError(f"Payload: {self.name!r} has a range and is of dtype {self.dtype.value}")
        if self.dtype.is_int and not isinstance(self.default, int):
            raise InternalError(f"Payload: {self.name!r} holds integers, and its default is {self.default!r}")
        if any(extent < 0 for extent in self.shape):
            raise InternalError(f"Payload: {self.name!r} has a negative extent in its shape {self.shape}")


@dataclass(frozen=True, slots=True)
class Plan:
    """Which structures a kernel takes, and which of their arrays it reads.

    An inner node has at least `min_children` (2 for a binary model) and at most `max_children` children
    (None: any number). `positions` lists each j whose array child_j the kernel reads: the j-th child of each
    inner node. Below `min_children` that child is always there; from it on it may be missing, and child_j
    is -1. `carriers` names the integer payloads of which the kernel reads a list of the nodes that carry one, those
    with a value from zero up. `unrolled` says that inner nodes are taken in steps of that many heights and one more:
    the kernel reads the top nodes of each step; none where it is 0.
    """

    kind: StructureKind
    min_children: int
    max_children: int | None
    payloads: tuple[Payload, ...]
    positions: tuple[int, ...]
    carriers: tuple[str, ...] = ()
    unrolled: int = 0

    def __post_init__(self) -> None:
        if self.unrolled < 0 or (self.unrolled and self.kind is StructureKind.DAG):
            raise InternalError(f"Plan: {self.kind.value}s unrolled by {self.unrolled}")
        names = [payload.name for payload in self.payloads]
        if len(set(names)) != len(names):
            raise InternalError(f"Plan: two payloads have one name among {names}")
        if len(set(self.positions)) != len(self.positions) or any(j < 0 for j in self.positions):
            raise InternalError(f"Plan: positions are to be distinct and not negative: {self.positions}")
        for name in self.carriers:
            listed = self.payload(name)
            if listed is None or not listed.dtype.is_int or listed.shape:
                raise InternalError(f"Plan: carriers are listed of {name!r}, which is no integer payload")
        if self.most_children is not None and self.min_children > self.most_children:
            raise InternalError(f"Plan: {self.min_children} children at least, {self.most_children} at most")

    @property
    def most_children(self) -> int | None:
        """The children that a node may have at most: `max_children`, and one in a sequence."""
        if self.kind is StructureKind.SEQUENCE:
            return 1
        return self.max_children

    def __str__(self) -> str:
        """Return what a user has to know of it, a line for each payload."""
        most = "any number of" if self.most_children is None else f"at most {self.most_children}"
        lines = [
            f"{self.kind.value}s; an inner node has at least {max(1, self.min_children)} and {most} children"
        ]
        if self.unrolled:
            lines[0] += f", and {self.unrolled + 1} heights make a step"
        lines += [f"  {payload}" for payload in self.payloads]
        return "\n".join(lines)

    def payload(self, name: str) -> Payload | None:
        """Return the payload of that name, or None if the kernel reads none."""
        return next((payload for payload in self.payloads if payload.name == name), None)
