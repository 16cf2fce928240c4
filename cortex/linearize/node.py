"""The library's own node, for callers without a tree class."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import TYPE_CHECKING, Any

from ragged.errors import DataError


class Node:
    """A node of a tree, a DAG or a sequence: its children in order, and payloads as attributes.

    `children` may hold None where a child is missing and the others keep their positions. A node may stand
    under several parents where the model is declared for DAGs, and in several structures of a batch.

    >>> leaf = Node(word=7)
    >>> root = Node([leaf, Node(word=8)])
    >>> root.children[0].word
    7
    """

    def __init__(self, children: Iterable[Node | None] = (), /, **payload: object) -> None:
        try:
            self.children: tuple[Node | None, ...] = tuple(children)
        except TypeError:
            if isinstance(children, Iterable):
                raise
            raise DataError(
                f"Node: {children!r} is no sequence of children",
                fix="Node([Node(word=3), Node(word=4)]); a payload has a name, as in Node(word=3)",
            ) from None
        for name, value in payload.items():
            setattr(self, name, value)

    if TYPE_CHECKING:  # a hook at run time would cost a call for each payload that a node does not carry

        def __getattr__(self, name: str) -> Any: ...

    def __repr__(self) -> str:
        # Only the number of children: a tree may be a million nodes deep.
        children: object = self.children
        parts = [f"<{len(children)} children>"] if isinstance(children, Sized) else [f"<{children!r}>"]
        parts += [f"{name}={value!r}" for name, value in vars(self).items() if name != "children"]
        return f"Node({', '.join(parts if children else parts[1:])})"
