"""The error of Tensor Comprehensions, and positions in their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragged.errors import Location, UserError

Phase = Literal["parse", "check", "range", "call"]
"""The phase that refused a text: parsing, the check of names and types, range inference, or a call."""


@dataclass(frozen=True, slots=True)
class TextPosition(Location):
    """A line and a column of a text, both counted from one; `file` is the name that the text was given."""

    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class TcError(UserError):
    """A text, or arguments of a call, that cannot be compiled as written; `phase` says what refused it.

    `line` and `column` are counted from one; None for an error of a call that no place in the text is about.
    """

    def __init__(
        self,
        phase: Phase,
        what: str,
        *,
        at: Location | None = None,
        because: str | None = None,
        example: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(what, at=at, because=because, example=example, fix=fix)
        self.phase = phase
        self.line = None if at is None else at.line
        self.column = at.column if isinstance(at, TextPosition) else None
