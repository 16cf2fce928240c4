"""The one hierarchy of errors, and the place in the user's code that an error speaks of.

A message says which operation failed, on what, where in the user's code, why, with a counterexample where
there is one, and what to do about it::

    ScheduleError: pad_loop: cannot pad loop 'j' to a multiple of 8: 'A' is stored to a multiple of 4
      at treelstm.py:41
      because: A[i, j] is read for j < ceil(length(i), 8), and row i holds ceil(length(i), 4)
      example: length(0) = 3: the loop reaches j = 7, row 0 holds 4 values
      fix: pad_dimension(A, 1, 8), or leave the loop a guarded tail
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from types import FrameType

from ragged.front_ends import is_internal

MASK_IGNORED = "its mask would be ignored"
"""Why masked arrays of NumPy are refused."""
WITHOUT_MASK = "give its data, `array.data`, or what `array.filled(0)` returns"
"""What to give instead."""


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's source: `file` as Python names it, `line` counted from one.

    In a text of Tensor Comprehensions, which has the name `file`, it is a place, with a `column` counted from one.
    """

    file: str
    line: int
    column: int | None = None

    def __str__(self) -> str:
        if self.column is not None:
            return f"{self.file}:{self.line}:{self.column}"
        return f"{os.path.basename(self.file)}:{self.line}"

    @staticmethod
    def capture() -> Location | None:
        """Return the innermost line executed outside the compiler and its front ends, or None."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not is_internal(frame.f_globals.get("__name__", "")):
                return Location(frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return None


class ProjectError(Exception):
    """What every error of this project is; `str()` of it is the whole message, one line for each part."""

    def __init__(
        self,
        what: str,
        *,
        at: Location | None = None,
        because: str | None = None,
        example: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.what = what
        self.at = at
        self.because = because
        self.example = example
        self.fix = fix
        lines = [what]
        if at is not None:
            lines.append(f"  at {at}")
        for label, text in (("because", because), ("example", example), ("fix", fix)):
            if text is not None:
                lines.append(f"  {label}: {text}")
        super().__init__("\n".join(lines))


class UserError(ProjectError):
    """Something that the caller can mend."""


class ModelError(UserError):
    """A model, or its parameters, that cannot be compiled as written."""


class ScheduleError(UserError):
    """A rewriting that was refused; the program is as it was."""


class DataError(UserError):
    """A structure, payload, length or array that a compiled function cannot take."""


class InternalError(ProjectError):
    """A fault of this project: please report it with the whole message."""

    def __init__(self, what: str, *, because: str | None = None) -> None:
        super().__init__(
            what, because=because, fix="this is a fault of ours; please report it with this message"
        )
