"""What a compiled model asks of the structures that it is given: the linearizer's plan.

A plan says which structures are legal (kind, arity), which payloads their nodes carry, and which arrays
the kernel reads. `cortex.linearize` makes those arrays from structures and refuses what the plan does not
allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cortex.ilir.classes import NodeClass
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

    def interval(self, *, leaf: bool) -> tuple[int, int] | None:
        """Return the range of what a leaf, or else an inner node, reads, its default with it if that counts."""
        if self.range is None or self.required.at(leaf):
            return self.range
        return min(self.range[0], int(self.default)), max(self.range[1], int(self.default) + 1)

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
    """The structures that a kernel takes, and those of their arrays that it reads.

    An inner node has at least `min_children` (2 for a binary model) and at most `max_children` children (None: any
    number). `positions` lists each j for which the kernel reads the array child_j: the j-th child of each inner node.
    For j < `min_children` it always exists; otherwise it may be missing, and child_j is -1. `carriers` names the
    integer payloads for which the kernel reads the list of nodes that carry one (a value >= 0). With `unrolled` > 0
    each step processes the inner nodes of `unrolled` + 1 heights, and the kernel reads the top nodes of each step.
    `classes` partition the nodes of a batch, leaves first: a node is in the first class of its kind with all conditions
    true, else in the last. Without classes batches are not partitioned. With `recycled` only the results of roots
    outlive the kernel: a node may use the row of another node after all parents of that one. No batch of inner nodes
    has more than `widest` nodes: a height with more is several batches. None: no limit, as in an unrolled plan, which
    has steps of whole heights. With `members` the kernel reads which nodes each structure has.
    """

    kind: StructureKind
    min_children: int
    max_children: int | None
    payloads: tuple[Payload, ...]
    positions: tuple[int, ...]
    carriers: tuple[str, ...] = ()
    unrolled: int = 0
    classes: tuple[NodeClass, ...] = ()
    recycled: bool = False
    widest: int | None = None
    members: bool = False

    def __post_init__(self) -> None:
        if self.unrolled < 0 or (self.unrolled and self.kind is StructureKind.DAG):
            raise InternalError(f"Plan: {self.kind.value}s unrolled by {self.unrolled}")
        if self.widest is not None and (self.widest < 1 or self.unrolled):
            raise InternalError(f"Plan: batches of {self.widest} nodes, unrolled by {self.unrolled}")
        names = [payload.name for payload in self.payloads]
        if len(set(names)) != len(names):
            raise InternalError(f"Plan: two payloads have one name among {names}")
        if len(set(self.positions)) != len(self.positions) or any(j < 0 for j in self.positions):
            raise InternalError(f"Plan: positions are to be distinct and not negative: {self.positions}")
        for name in self.carriers:
            listed = self.payload(name)
            if listed is None or not listed.dtype.is_int or listed.shape:
                raise InternalError(f"Plan: carriers are listed of {name!r}, which is no integer payload")
        self._check_classes()
        if self.most_children is not None and self.min_children > self.most_children:
            raise InternalError(f"Plan: {self.min_children} children at least, {self.most_children} at most")

    def _check_classes(self) -> None:
        leaves = [each.leaf for each in self.classes]
        if self.classes and (leaves != sorted(leaves, reverse=True) or len(set(leaves)) != 2):
            raise InternalError("Plan: classes are of leaves first, then of inner nodes, and of both")
        for condition in (condition for each in self.classes for condition in each.conditions):
            asked = None if condition.payload is None else self.payload(condition.payload)
            if condition.payload is not None and (asked is None or not asked.dtype.is_int or asked.shape):
                raise InternalError(
                    f"Plan: classes ask for {condition.payload!r}, which is no integer payload"
                )

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
        lines += [f"  by themselves: {each}" for each in self.classes if each.conditions]
        return "\n".join(lines)

    def payload(self, name: str) -> Payload | None:
        """Return the payload of that name, or None if the kernel reads none."""
        return next((payload for payload in self.payloads if payload.name == name), None)
