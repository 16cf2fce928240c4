"""The error of Tensor Comprehensions."""

from __future__ import annotations

from typing import Literal

from ragged.errors import Location, UserError
from ragged.tc.checked import CheckedFunction

Phase = Literal["parse", "check", "range", "call"]
"""The phase that refused a text: parsing, the check of names and types, range inference, or a call."""


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
        self.column = None if at is None else at.column


def refuse(what: str, at: Location, because: str | None = None, fix: str | None = None) -> TcError:
    """Return the error of a rule of names or types."""
    return TcError("check", what, at=at, because=because, fix=fix)


def refuse_call(
    function: CheckedFunction, what: str, because: str | None = None, fix: str | None = None
) -> TcError:
    """Return the error for the arguments of a call."""
    return TcError("call", f"{function.name} {what}", because=because, fix=fix)
