"""A compiled kernel: what follows from a model's lowered program alone, whichever parameters it is called with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragged.codegen.entry import Entry
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import StageKind
from ragged.runtime.executable import Executable


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel as data, its code apart.

    `operations` is about how many it does for a node. `listings` are the texts of its making that `show` prints:
    "ilir", "steps" (the loop schedule), "loops" and "checks".
    """

    executable: Executable
    operations: int
    listings: dict[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class LoadedKernel:
    """A kernel in this process. `code` is its shared library, None where no linker made one."""

    kernel: Kernel
    code: bytes | None
    entries: Mapping[StageKind, Entry]

    @property
    def call_stages(self) -> list[Entry]:
        """The stages that a call runs, in order."""
        return [entry for kind, entry in self.entries.items() if kind is not StageKind.BIND]

    def named(self, role: Role) -> dict[str, str]:
        """Return, for the arguments that are buffers of a role, the buffers' own names by the arguments'."""
        return {
            argument.name: argument.symbol.name
            for argument in self.entries[StageKind.KERNEL].arguments
            if isinstance(argument.symbol, Buffer) and argument.symbol.role is role
        }


def load_kernel(kernel: Kernel, code: bytes) -> LoadedKernel:
    """Return a kernel that was compiled before, ready to be called; raises as `Executable.load` does."""
    return LoadedKernel(kernel, code, kernel.executable.load(code))
