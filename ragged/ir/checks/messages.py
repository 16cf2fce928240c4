"""Rules of the messages of checks."""

from __future__ import annotations

from string import Formatter

from ragged.ir.checks.refusal import refusal
from ragged.ir.program import Program
from ragged.ir.stmt import Check
from ragged.ir.walk import statements


def check_messages(program: Program) -> None:
    """A check's message names the witnesses that there are, as `{0}` and so on."""
    for stmt in (inner for stage in program.stages for inner in statements(stage.body)):
        if isinstance(stmt, Check):
            for name in _places(stmt.message):
                if name is None or not name.isdecimal() or int(name) >= len(stmt.witness):
                    raise refusal(program, stmt, "its message names a witness that is not there")


def _places(message: str) -> list[str | None]:
    """Return what stands between the braces of `message`, None if they are no places."""
    try:
        return [name for _, name, _, _ in Formatter().parse(message) if name is not None]
    except ValueError:
        return [None]
