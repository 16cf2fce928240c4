"""Code for another processor: its calls can be prepared and described, and are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ragged.codegen.entry import Entry, Value
from ragged.errors import InternalError
from ragged.ir.expr import Buffer, Role
from ragged.runtime.call import Caller, Slot
from ragged.runtime.executable import Executable


class ForeignCaller(Caller):
    """A `Caller` of stages that this processor cannot run. What their bind stage would fill is left empty."""

    def __init__(
        self,
        entries: Sequence[Entry],
        bound: Mapping[str, Value],
        executable: Executable,
        *,
        workers: int | None = 1,
    ) -> None:
        self._executable = executable
        empty = {
            argument.name: np.empty(0, argument.dtype.numpy)
            for argument in entries[0].arguments
            if isinstance(argument.symbol, Buffer) and argument.symbol.role is Role.BOUND
        }
        super().__init__(entries, {**bound, **empty}, workers=workers)

    def _prepare(self, outputs: list[Slot], workspaces: list[Slot]) -> None:
        """Prepare nothing: nothing is called."""

    @property
    def idle_memory(self) -> tuple[int, int]:
        """No blocks, of no bytes."""
        return 0, 0

    def _call(self, *_: Any) -> NoReturn:
        """Refuse; raises `UserError`."""
        self._executable.check_processor()
        raise InternalError("code that this processor can run was not loaded")
