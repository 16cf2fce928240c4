"""How the stages of a program are called, as data: what has to be known of code that is compiled already.

A program's declarations travel as the IR's own text, which says the arguments of every stage and their shapes. None
of this needs the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ragged.codegen.entry import CheckSite, Entry, signature_of
from ragged.errors import InternalError
from ragged.ir.expr import Buffer, Function, Role
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program, StageKind
from ragged.ir.text.names import Names

SYMBOL_PREFIX = "__tvm_ffi_"
"""What the name of a function of tvm_ffi's calling convention begins with, in an object file."""


@dataclass(frozen=True, slots=True)
class StageInterface:
    """A stage: the name of its function in the code, its checks in the order of their indices, and if it has a team."""

    kind: StageKind
    function: str
    checks: tuple[CheckSite, ...]
    team: bool


@dataclass(frozen=True, slots=True)
class Interface:
    """How a program's stages are called.

    `declarations` is the text of the program without facts and stages; `names` are what its functions and then its
    buffers are called in the program itself, where the text had to number those of one name. `workers` is the name in
    the text of the size that is a team's number of workers.
    """

    declarations: str
    names: tuple[str, ...]
    workers: str | None
    stages: tuple[StageInterface, ...]

    def program(self) -> Program:
        """Return a new program of these declarations, under the names of the text.

        Raises `ModelError` for a text that is none, `InternalError` where the names are not for it.
        """
        program = parse(self.declarations, file="<declarations>")
        if len(self.names) != len(program.functions) + len(program.buffers):
            raise InternalError(f"{len(self.names)} names for the declarations of '{program.name}'")
        return program

    def entries(self, function: Callable[[str], Callable[..., Any]]) -> dict[StageKind, Entry]:
        """Return the stages, ready to be called; `function` finds them in the loaded code by name.

        Raises as `program` does.
        """
        program = self.program()
        workers = next((size for size in program.sizes() if size.name == self.workers), None)
        for symbol, name in zip((*program.functions, *program.buffers), self.names, strict=True):
            object.__setattr__(symbol, "name", name)  # the symbol is new: no program refers to it yet
        signature = signature_of(program, workers)
        return {
            stage.kind: Entry(
                stage.kind, function(stage.function), signature, stage.checks, workers, stage.team
            )
            for stage in self.stages
        }

    def named(self, role: Role) -> frozenset[str]:
        """Return the names of the buffers of a role, as the program itself has them. Raises as `program` does."""
        program = self.program()
        own = zip(program.buffers, self.names[len(program.functions) :], strict=True)
        return frozenset(name for buffer, name in own if buffer.role is role)

    def located(self, at: Callable[[CheckSite], CheckSite]) -> Interface:
        """Return the interface with each check as `at` returns it."""
        stages = (replace(stage, checks=tuple(map(at, stage.checks))) for stage in self.stages)
        return replace(self, stages=tuple(stages))


def interface_of(program: Program, workers: Function | None, stages: Iterable[StageInterface]) -> Interface:
    """Return the interface of a program after its `stages` are compiled."""
    text = to_text(replace(program, facts=(), stages=()))
    symbols: tuple[Function | Buffer, ...] = (*program.functions, *program.buffers)
    names = Names()
    printed = {symbol: names.value(symbol) for symbol in symbols}
    return Interface(
        text,
        tuple(symbol.name for symbol in symbols),
        None if workers is None else printed[workers],
        tuple(stages),
    )
