"""A program: declarations, facts, and one body for each stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ragged.ir.expr import Buffer, Function
from ragged.ir.fact import Fact
from ragged.ir.printer import to_text
from ragged.ir.stage import Stage as Stage
from ragged.ir.stage import StageKind as StageKind
from ragged.ir.stmt import Stmt


class _Indexed:
    """What is computed once of a program, by `ragged.ir.index`, when it is first asked for."""

    __slots__ = ("_index",)

    _index: Any


@dataclass(frozen=True, slots=True)
class Program(_Indexed):
    """Everything that is compiled together.

    `functions` and `buffers` are in the order of the compiled function's arguments: sizes and arrays of functions
    first, then buffers. `stages` are in the order of `StageKind`, each kind at most once.
    """

    name: str
    functions: tuple[Function, ...]
    buffers: tuple[Buffer, ...]
    facts: tuple[Fact, ...]
    stages: tuple[Stage, ...]

    def stage(self, kind: StageKind) -> Stage | None:
        """Return the stage of that kind, or None."""
        return next((stage for stage in self.stages if stage.kind is kind), None)

    def __str__(self) -> str:
        return to_text(self)

    @property
    def kernel(self) -> Stmt:
        """The kernel's body."""
        stage = self.stage(StageKind.KERNEL)
        assert stage is not None, "a verified program has a kernel"
        return stage.body

    def free_name(self, name: str) -> str:
        """Return `name`, or one like it, that nothing here is declared by."""
        taken = {function.name for function in self.functions} | {buffer.name for buffer in self.buffers}
        return next(new for new in (name, *(f"{name}_{i}" for i in range(len(taken)))) if new not in taken)

    def sizes(self) -> Iterator[Function]:
        """The functions that are numbers, in order."""
        return (function for function in self.functions if function.is_size)

    def arrays(self) -> Iterator[Function]:
        """The functions with their values in arrays, in order."""
        return (function for function in self.functions if function.is_array)
