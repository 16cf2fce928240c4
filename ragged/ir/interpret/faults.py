"""What interpreting finds wrong: with a program (`Fault`), or with the data given to it (`CheckFailed`)."""

from __future__ import annotations

from collections.abc import Sequence

from ragged.errors import DataError, ProjectError
from ragged.ir.stmt import Label


class Fault(ProjectError):
    """A program did what no program may do."""


class Undefined(Fault):
    """An element was read that nothing had written."""


class OutOfBounds(Fault):
    """An index lies outside its dimension, even where the element's address lies inside the buffer."""


class OutOfDomain(Fault):
    """A function was called outside its domain."""


class Overflow(Fault):
    """The value of an integer operator does not fit its dtype."""


class NotWritable(Fault):
    """A stage wrote what only the caller, or an earlier stage, may write."""


class BarrierDivergence(Fault):
    """Not all workers of a team, or threads of a block, came to the same barrier."""


class Race(Fault):
    """Two iterations that run at once touched one element, and at least one of them wrote it.

    `buffer` is the buffer's name, `element` the indices, `places` the names of both statements: their
    labels, or for a loop, a let or a condition what it is.
    """

    def __init__(self, buffer: str, element: tuple[int, ...], places: tuple[str, str], because: str) -> None:
        self.buffer = buffer
        self.element = element
        self.places = places
        where = ", ".join(str(i) for i in element)
        super().__init__(
            f"race on {buffer}[{where}] between '{places[0]}' and '{places[1]}'",
            because=because,
        )


class CheckFailed(DataError):
    """A `Check` did not hold: its label, its message with the witnesses in it, and the witnesses."""

    def __init__(self, label: Label, message: str, witness: Sequence[object]) -> None:
        self.label = label
        self.message = message.format(*witness)
        self.witness = tuple(witness)
        super().__init__(self.message)
