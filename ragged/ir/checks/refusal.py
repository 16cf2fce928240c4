"""How a check refuses a program."""

from __future__ import annotations

from ragged.errors import InternalError
from ragged.ir.printer import Culprit, annotated
from ragged.ir.program import Program


def refusal(program: Program, at: Culprit | None, note: str) -> InternalError:
    """Return the error that says `note` of `at`, and shows it in the program."""
    return InternalError(f"'{program.name}' is not a valid program: {note}\n\n{annotated(program, at, note)}")
