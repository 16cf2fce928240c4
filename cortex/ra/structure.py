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
        _check_max_children("ra.Tree", self.max_children)


@dataclass(frozen=True, slots=True)
class Dag:
    """Acyclic graphs: a node may have several parents and is computed once; children as in `Tree`.

    The order of children matters to models that read them by their position, such as those of a grid, where a node's
    neighbours stand at the same positions everywhere. An edge of a `networkx.DiGraph` has the attribute `position`
    where the order of insertion is another one.
    """

    max_children: int | None = None

    def __post_init__(self) -> None:
        _check_max_children("ra.Dag", self.max_children)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Sequences: each step's only child is the step before it; the first step has none."""


Structure: TypeAlias = Tree | Dag | Sequence


def most_children(structure: Structure) -> int | None:
    """Return the largest number of children of a node; None if it may have any."""
    return 1 if isinstance(structure, Sequence) else structure.max_children


def _check_max_children(structure: str, most: int | None) -> None:
    if most is not None and type(most) is not int:
        raise ModelError(
            f"{structure}: max_children={most!r} is no integer",
            at=Location.capture(),
            fix="give the largest number of children, or None for any",
        )
    if most is not None and most < 1:
        raise ModelError(
            f"{structure}: max_children={most!r} allows no recursion",
            at=Location.capture(),
            fix="give the largest number of children, or None for any",
        )
