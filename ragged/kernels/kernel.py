"""A compiled kernel: what follows from lowered programs alone, whichever parameters it is called with."""

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

    `programs` are the texts of what the code was made of, after all passes: the kernel's program, then each prelude's.
    `listings` are other texts of its making that `show` prints.
    """

    executable: Executable
    programs: tuple[str, ...]
    listings: dict[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class LoadedKernel:
    """A kernel in this process. `code` is its shared library, None where no linker made one.

    `entries` are the stages of its program, `preludes` those of the programs whose outputs it reads.
    """

    kernel: Kernel
    code: bytes | None
    entries: Mapping[StageKind, Entry]
    preludes: tuple[Mapping[StageKind, Entry], ...] = ()

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
    entries, *preludes = kernel.executable.load(code)
    return LoadedKernel(kernel, code, entries, tuple(preludes))
