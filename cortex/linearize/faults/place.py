"""Where in a batch a fault lies, and short texts for the objects that it speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDEST = 80
_STEPS_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Place:
    """A structure (its index in the batch), there a node (its post-order row, where known), and its place.

    `where` says it in the caller's terms: a path from the root, a line and column, a number in a Forest.
    """

    structure: int
    row: int | None
    where: str

    def __str__(self) -> str:
        if self.row is None:
            return (
                f"structure {self.structure}, {self.where}" if self.where else f"structure {self.structure}"
            )
        return f"structure {self.structure}, node {self.row} ({self.where})"


def path(steps: Sequence[str]) -> str:
    """Join a root and the steps down from it; of many steps only the first and the last are written out."""
    root, down = steps[0], steps[1:]
    hidden = len(down) - 2 * _STEPS_SHOWN
    if hidden <= 0:
        return root + "".join(down)
    return f"{root}{''.join(down[:_STEPS_SHOWN])}[... {hidden} more ...]{''.join(down[-_STEPS_SHOWN:])}"


def short(value: object) -> str:
    """Return `repr(value)` on one line of at most 80 characters; an object that cannot say it gets a plain one."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = object.__repr__(value)
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def noun(value: object) -> str:
    """Return the type of a value with its article: `a dict`, `an int`, `None`."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def count(number: int, what: str) -> str:
    """Return `1 child`, `2 children`, `3 values`."""
    if number == 1:
        return f"1 {what}"
    return f"{number} {'children' if what == 'child' else what + 's'}"
