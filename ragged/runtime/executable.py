"""Compiled code as data: its interface and its processor, checked before it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from ragged.codegen.elf import defined_symbols
from ragged.codegen.entry import Entry
from ragged.codegen.interface import Interface
from ragged.errors import DataError, InternalError, ModelError, UserError
from ragged.ir.program import StageKind
from ragged.runtime import processor
from ragged.runtime.library import Library


@dataclass(frozen=True, slots=True)
class Executable:
    """The description of compiled code: its interfaces, and the processors that can run it.

    `target` is the target as text; `architecture` and `features` are LLVM's names of the processor's kind and of the
    features that the code may use. `preludes` are programs in the same library; this one reads their outputs.
    """

    interface: Interface
    target: str
    architecture: str
    features: tuple[str, ...]
    preludes: tuple[Interface, ...] = ()

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """The interfaces of the programs in the library: this one's, then the preludes'."""
        return (self.interface, *self.preludes)

    def load(self, code: bytes) -> tuple[dict[StageKind, Entry], ...]:
        """Return the stages of each program in `code`, a shared library, ready to be called.

        Raises:
            UserError: this machine cannot run it; none of it has been loaded.
            DataError: it is not the code that this describes, or the system refuses to load it. A `UserError` too.
        """
        self.check_processor()
        return self._entries(code, lambda: Library(code).function)

    def describe(self, code: bytes) -> tuple[dict[StageKind, Entry], ...]:
        """Return the stages of each program in `code` as `load` does, without functions to call: for any processor.

        Raises `DataError` as `load` does.
        """
        return self._entries(code, lambda: _refuse)

    def _entries(
        self, code: bytes, functions_of: Callable[[], Callable[[str], Callable[..., Any]]]
    ) -> tuple[dict[StageKind, Entry], ...]:
        try:
            functions = {stage.function for each in self.interfaces for stage in each.stages}
            lacking = functions - defined_symbols(code)
            if lacking:
                raise DataError(f"compiled code has no function '{min(lacking)}'")
            for each in self.interfaces:
                kinds = [stage.kind for stage in each.stages]
                if StageKind.KERNEL not in kinds or len(set(kinds)) != len(kinds):
                    raise DataError(f"compiled code of the stages {', '.join(kind.value for kind in kinds)}")
            function = functions_of()
            return tuple(each.entries(function) for each in self.interfaces)
        except (InternalError, ModelError) as fault:
            raise DataError("compiled code is not what its description says", because=fault.what) from None

    @property
    def runs_here(self) -> bool:
        """Whether this processor can run the code."""
        return processor.architecture() == self.architecture and not processor.missing(self.features)

    def check_processor(self) -> None:
        """Check that this processor can run the code.

        Raises:
            UserError: it is another kind of processor, or lacks a feature.
        """
        if not self.runs_here:
            here = processor.architecture()
            lacking = processor.missing(self.features) if here == self.architecture else []
            raise UserError(
                f"the code was compiled for another processor: '{self.target}'",
                because=f"this one lacks {', '.join(lacking)}" if lacking else f"this one is {here}",
                fix='compile on this machine, or for its target: "x86-64-v3" runs on most of today\'s',
            )


def _refuse(name: str) -> Callable[..., NoReturn]:
    def function(*_: object) -> NoReturn:
        raise InternalError(f"'{name}' is for another processor")

    return function
