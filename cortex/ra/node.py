"""Node handles: the `n` and `k` of a model's functions, at which tensors are read.

A handle is not a number. It is compared by identity, has children, and refuses everything else, so that control flow
and recursive calls depend on the structure alone (properties P.1 to P.3 of CORTEX, section 2).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Never, TypeAlias, cast

from ragged.data.read import is_integer
from ragged.errors import Location, ModelError

MOST_POSITION = 1023
"""The last position that a model may read a child at."""


class Computed:
    """The interface of expressions that handles need: a value that is not known until the model runs.

    Neither this nor any base of expressions is an ABC: `isinstance`, most of checking a model, would take long.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def calls(self) -> bool:
        """Whether the value depends on the result of a recursive call."""

    @abstractmethod
    def text(self) -> str:
        """Return the expression in infix."""


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """Base of all handles: a node of the structure that the model runs over."""

    @property
    def left(self) -> ChildAt:
        """The first child: `n.child(0)`."""
        return self.child(0)

    @property
    def right(self) -> ChildAt:
        """The second child: `n.child(1)`."""
        return self.child(1)

    def child(self, position: int) -> ChildAt:
        """Return the child at `position`, a constant counted from zero.

        Raises:
            ModelError: the position is computed (P.2), depends on another call's result (P.3), is not a whole
                number, or is above 1023.
        """
        if isinstance(position, Computed):
            raise _computed_child(self._node, position)
        if not _is_position(position):
            raise ModelError(
                f"'{self.text()}.child({position!r})': a child's position is a whole number from 0 on",
                at=Location.capture(),
                fix=f"{self.text()}.child(0) is the first child",
            )
        if position > MOST_POSITION:
            raise ModelError(
                f"'{self.text()}.child({position})': a child's position is at most {MOST_POSITION}",
                at=Location.capture(),
                because="structures are given an array of all nodes' children for each position",
                fix=f"ra.sum_children({self.text()}, lambda k: ...), or another reduction over all children",
            )
        return ChildAt(self._node, int(position))

    @property
    def parent(self) -> Never:
        """Refused: a recursion runs from the leaves up."""
        raise ModelError(
            f"'{self.text()}.parent': a recursive call at a node's parent (P.2)",
            at=Location.capture(),
            because="a recursion runs from the leaves up, and the result of a parent is computed from this one",
            fix="run over ra.Dag() with the edges reversed, so that a parent is its children's child",
        )

    @property
    def children(self) -> Never:
        """Refused: the number of children is not known while the model is written."""
        raise _no_list(f"{self.text()}.children")

    def __iter__(self) -> Never:
        raise _no_list(self.text())

    if not TYPE_CHECKING:  # a type checker is to report what there is not

        def __getattr__(self, name: str) -> Never:
            if name.startswith("_"):  # what Python and its tools ask of any object
                raise AttributeError(name)
            raise ModelError(
                f"'{self.text()}.{name}': a node has children, and nothing else",
                at=Location.capture(),
                because="it is a handle: what nodes carry is a tensor, which is read at a node",
                fix=f'{name} = ra.node_input("{name}"), and {name}[{self.text()}]',
            )

    def text(self) -> str:
        """Return the handle as the user wrote it."""
        return self._text()

    @abstractmethod
    def _text(self) -> str: ...

    @property
    def _node(self) -> Node:
        return cast(Node, self)  # the union below is closed

    def __add__(self, other: object) -> Never:
        raise _no_number(f"{self.text()} + {_text(other)}")

    def __radd__(self, other: object) -> Never:
        raise _no_number(f"{_text(other)} + {self.text()}")

    def __sub__(self, other: object) -> Never:
        raise _no_number(f"{self.text()} - {_text(other)}")

    def __mul__(self, other: object) -> Never:
        raise _no_number(f"{self.text()} * {_text(other)}")

    def __lt__(self, other: object) -> Never:
        raise _no_number(f"{self.text()} < {_text(other)}")

    def __gt__(self, other: object) -> Never:
        raise _no_number(f"{self.text()} > {_text(other)}")

    def __bool__(self) -> Never:
        raise python_branch(self.text())


@dataclass(frozen=True, slots=True, eq=False)
class NodeVar(Handle):
    """The node of a compute; `name` is the parameter's name in the user's function."""

    name: str = "n"

    def _text(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class StructureVar(NodeVar):
    """The structure of a compute over `ra.S`: no node, and so without children."""

    def child(self, position: int) -> Never:
        """Refused: a structure has nodes."""
        raise ModelError(
            f"'{self.text()}' is a structure, and has no children",
            at=Location.capture(),
            because="what is computed over ra.S is computed of all nodes of a structure",
            fix=f"ra.sum_nodes({self.text()}, lambda n: ...), or ra.max_nodes",
        )


@dataclass(frozen=True, slots=True, eq=False)
class ChildAt(Handle):
    """The child of `node` at a fixed `position`."""

    node: Node
    position: int

    def _text(self) -> str:
        name = {0: "left", 1: "right"}.get(self.position, f"child({self.position})")
        return f"{self.node.text()}.{name}"


@dataclass(frozen=True, slots=True, eq=False)
class ChildVar(Handle):
    """Each child of `node` in turn; `name` is the parameter's name in the user's function."""

    node: Node
    name: str = "k"

    def _text(self) -> str:
        return self.name


Node: TypeAlias = NodeVar | ChildAt | ChildVar


def python_branch(text: str) -> ModelError:
    """Return the error for an expression used as a Python truth value (P.1)."""
    return ModelError(
        f"'{text}' cannot decide a Python branch (P.1)",
        at=Location.capture(),
        because="the model is written once for all nodes, and what a value is, is known only when it runs",
        fix="ra.if_then_else to branch on the structure, ra.where to choose a value, & | ~ for and, or, not",
    )


def _no_number(text: str) -> ModelError:
    return ModelError(
        f"'{text}': a node is a handle and not a number (P.2)",
        at=Location.capture(),
        because="what is computed at a node may be read at that node and at its children only",
        fix="read at n, n.left, n.right or n.child(j), or over all children with ra.sum_children",
    )


def _no_list(text: str) -> ModelError:
    return ModelError(
        f"'{text}': Python cannot loop over a node's children (P.1)",
        at=Location.capture(),
        because="the model is written once for all nodes, and how many children one has is known when it runs",
        fix="ra.sum_children(n, lambda k: ...), ra.max_children, or n.child(j) for the one at a position",
    )


def _computed_child(node: Node, position: Computed) -> ModelError:
    call = f"'{node.text()}.child({position.text()})'"
    if position.calls:
        return ModelError(
            f"{call}: a recursive call depends on a sibling's result (P.3)",
            at=Location.capture(),
            because="the calls at a node's children must be free to run in any order",
            fix="write the position as a number, or reduce over all children with ra.sum_children",
        )
    return ModelError(
        f"{call}: a recursive call at a computed child (P.2)",
        at=Location.capture(),
        because="which nodes a node calls must follow from the structure alone",
        fix="write the position as a number, or reduce over all children with ra.sum_children",
    )


def _is_position(value: object) -> bool:
    return is_integer(value) and value >= 0


def _text(value: object) -> str:
    return value.text() if isinstance(value, (Handle, Computed)) else repr(value)
