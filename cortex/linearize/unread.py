"""What the first structure of a function's first batch has and the model does not read: reported once, in the log.

The logger is `cortex.inputs`, the level WARNING, which Python prints unless told otherwise.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from cortex.ilir.plan import Plan
from cortex.linearize.faults import Names
from cortex.linearize.forest import Forest
from cortex.linearize.vocab import Vocab

INPUTS = logging.getLogger("cortex.inputs")
_LOOKED_AT = 100
"""The most edges, and nodes of a labelled tree, that are looked at."""


def report_unread(plan: Plan, vocab: Vocab | None, children: Names, data: object) -> None:
    """Log a warning for each kind of value in the batch's first structure that the model does not read."""
    first = (data[0] if data else None) if type(data) is list else data
    for what in _unread(plan, vocab, first):
        INPUTS.warning("%s; the model reads %s", what, _payloads(plan))
    if isinstance(first, dict) and children is not None:
        _report_lists(first, (children,) if isinstance(children, str) else children)


def _report_lists(first: dict[object, object], names: tuple[str, ...]) -> None:
    """Log that a dict has lists of dicts and none of the keys that children are read from."""
    lists = [
        str(key)
        for key, value in first.items()
        if type(value) is list and value and isinstance(value[0], dict)
    ]
    if lists and not any(name in first for name in names):
        read = "a dict has no %s and is read as a leaf; it has lists of dicts under %s"
        INPUTS.warning(read, _quoted([*names]), _quoted(lists))


def _unread(plan: Plan, vocab: Vocab | None, structure: Any) -> Iterator[str]:
    names = {payload.name for payload in plan.payloads}
    networkx: Any = sys.modules.get("networkx")
    if isinstance(structure, Forest):
        more = [name for name in structure.payloads if name not in names]
        if more:
            yield f"a Forest's {_quoted(more)} is not read"
    elif networkx is not None and isinstance(structure, networkx.Graph):
        attributes = {name for *_, data in islice(structure.edges(data=True), _LOOKED_AT) for name in data}
        attributes -= {"position"} if plan.positions else set()
        if attributes:
            yield f"attributes of a graph's edges are not read: {_quoted(sorted(map(str, attributes)))}"
    elif isinstance(structure, list) and hasattr(type(structure), "label"):
        found = [*_labels(structure)]
        # right above a word there may be its part of speech
        inner, lowest = ([label for label, is_low in found if is_low is low] for low in (False, True))
        labels = inner or lowest
        if vocab is not None and labels and all(label in vocab for label in labels):
            words = [label for label, _ in found if label in vocab]
            yield f"labels of inner nodes are not read, and are words of the vocabulary: {_quoted(words[:3])}"


def _labels(tree: Any) -> Iterator[tuple[str, bool]]:
    """Yield labels with a letter of the first nodes of a labelled tree; True beside those right above words."""
    waiting, looked_at = [tree], 0
    while waiting and looked_at < _LOOKED_AT:
        node = waiting.pop()
        looked_at += 1
        below = [child for child in islice(node, _LOOKED_AT) if isinstance(child, list)]
        label = node.label if isinstance(node.label, str) or not callable(node.label) else node.label()
        if isinstance(label, str) and any(map(str.isalpha, label)):
            yield label, not below
        waiting += reversed(below)


def _payloads(plan: Plan) -> str:
    return _quoted([payload.name for payload in plan.payloads]) if plan.payloads else "no payload"


def _quoted(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
