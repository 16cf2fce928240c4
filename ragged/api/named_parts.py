"""Statements, buffers and functions of a schedule's program by name."""

from __future__ import annotations

from ragged.ir.expr import Buffer, Expr, Function, Var
from ragged.ir.stmt import Label
from ragged.schedule.loop_schedule import LoopSchedule


class NamedParts:
    """What the program of a schedule calls by a name."""

    @property
    def loops(self) -> LoopSchedule:
        """The program's loops and the primitives applied to them."""
        raise NotImplementedError

    def statement(self, name: str, nth: int | None = None) -> Label:
        """Return the label of that name, as `LoopSchedule` does."""
        return self.loops.statement(name, nth)

    def buffer(self, name: str, nth: int | None = None) -> Buffer:
        """Return the buffer of that name, as `LoopSchedule` does."""
        return self.loops.buffer(name, nth)

    def function(self, name: str) -> Function:
        """Return the function of that name, as `LoopSchedule` does."""
        return self.loops.function(name)

    def index(self, text: str, at: Var) -> Expr:
        """Parse an index at the loop `at`, as `LoopSchedule` does."""
        return self.loops.index(text, at)
