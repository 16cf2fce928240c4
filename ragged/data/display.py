"""Printing in NumPy's manner: nested brackets, long dimensions elided in the middle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

_DOTS = "..."


class Rows(Protocol):
    """What is printed: an array, ragged or not."""

    @property
    def ndim(self) -> int:
        """The number of dimensions."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Any: ...


def render(rows: Rows, size: int, dtype: np.dtype[Any], *, separator: str, indent: int) -> str:
    """Return the text of `rows` with `size` elements, in lines as long as NumPy's print options allow.

    Lines after the first begin with `indent` spaces. At most edgeitems elements are looked at from each end of a
    dimension if there are more than threshold (NumPy's options as well).
    """
    options = np.get_printoptions()
    edge = options["edgeitems"] if size > options["threshold"] else sys.maxsize
    leaves: list[Any] = []
    tree = _tree(rows, edge, leaves)
    texts = iter(_texts(np.array(leaves, dtype)))
    return _text(tree, texts, rows.ndim, separator, indent + 1, options["linewidth"])


def _tree(rows: Rows, edge: int, leaves: list[Any]) -> list[Any]:
    """Return nested lists that hold None for an element, which is added to `leaves`, and dots for what is elided."""
    length = len(rows)
    elided = length > 2 * edge
    places = [*range(edge), None, *range(length - edge, length)] if elided else range(length)
    if rows.ndim == 1:
        leaves.extend(rows[place] for place in places if place is not None)
        return [_DOTS if place is None else None for place in places]
    return [_DOTS if place is None else _tree(rows[place], edge, leaves) for place in places]


def _texts(leaves: np.ndarray[Any, Any]) -> list[str]:
    """Return the elements as NumPy writes them in one array, all of one width."""
    text = np.array2string(leaves, separator=",", threshold=sys.maxsize, max_line_width=sys.maxsize)
    return text[1:-1].split(",")


def _text(tree: list[Any], texts: Iterator[str], ndim: int, separator: str, indent: int, width: int) -> str:
    if ndim == 1:
        words = [_DOTS if node is _DOTS else next(texts) for node in tree]
        return f"[{_wrapped(words, separator, indent, width - ndim)}]"
    parts = [
        _DOTS if node is _DOTS else _text(node, texts, ndim - 1, separator, indent + 1, width)
        for node in tree
    ]
    between = separator.rstrip() + "\n" * (ndim - 1) + " " * indent
    return f"[{between.join(parts)}]"


def _wrapped(words: list[str], separator: str, indent: int, width: int) -> str:
    lines: list[str] = []
    line = ""
    for word in words:
        if line and indent + len(line) + len(word) > width:
            lines.append(line.rstrip())
            line = ""
        line += word + separator
    text = ("\n" + " " * indent).join([*lines, line])
    return text[: -len(separator)] if words else ""
