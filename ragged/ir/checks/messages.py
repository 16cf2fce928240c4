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
            fault = _fault(stmt)
            if fault is not None:
                raise refusal(program, stmt, fault)


def _fault(check: Check) -> str | None:
    try:
        names = [name for _, name, _, _ in Formatter().parse(check.message) if name is not None]
    except ValueError:
        return "its message has a brace without its other half"
    for name in names:
        if not name.isdecimal() or int(name) >= len(check.witness):
            return f"its message names a witness {{{name}}} that is not there"
    return None
