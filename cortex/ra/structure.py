"""The structures that a recursion may run over: `ra.Tree`, `ra.Dag`, `ra.Sequence`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ragged.errors import Location, ModelError


@dataclass(frozen=True, slots=True)
class Tree:
    """Trees: each node has one parent; children are ordered, at most `max_children` if it is given."""

    max_children: int | None = None

    def __post_init__(self) -> None:
        if self.max_children is not None and self.max_children < 1:
            raise ModelError(
                f"ra.Tree: max_children={self.max_children!r} allows no recursion",
                at=Location.capture(),
                fix="give the largest number of children, or None for any",
            )


@dataclass(frozen=True, slots=True)
class Dag:
    """Acyclic graphs: a node may have several parents and is computed once; children are unordered."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """Sequences: each step's only child is the step before it; the first step has none."""


Structure: TypeAlias = Tree | Dag | Sequence
