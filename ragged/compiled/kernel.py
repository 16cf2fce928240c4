"""A compiled kernel: what follows from lowered programs alone, whichever parameters it is called with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragged.codegen.entry import Entry, Value
from ragged.errors import DataError
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller, bind
from ragged.runtime.cuda.launch import Launch
from ragged.runtime.executable import Executable

if TYPE_CHECKING:
    from ragged.runtime.cuda.caller import CudaCaller


CUBIN = "kernel.cubin"
"""What the code of a kernel that runs on a GPU is called, where kernels are kept in files."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel as data, its code apart.

    `programs` are the texts of what the code was made of, after all passes: the kernel's program, then each prelude's.
    `listings` are other texts of its making that `show` prints. `shares_columns` says whether workers share the columns
    of what a batch computes, of which there are as many however few nodes are in it. `launch` is how the kernel is run
    on a GPU, if it is for one: the executable's own kernel then does nothing, and its other stages run here.
    """

    executable: Executable
    programs: tuple[str, ...]
    listings: dict[str, str]
    shares_columns: bool
    launch: Launch | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoadedKernel:
    """A kernel in this process. `code` is its shared library, None where no linker made one.

    `entries` are the stages of its program, `preludes` those of the programs whose outputs it reads; `cubin` is the
    code of a kernel that runs on a GPU.
    """

    kernel: Kernel
    code: bytes | None
    entries: Mapping[StageKind, Entry]
    preludes: tuple[Mapping[StageKind, Entry], ...] = ()
    cubin: bytes | None = None

    @property
    def call_stages(self) -> list[Entry]:
        """The stages that a call runs, in order."""
        return [entry for kind, entry in self.entries.items() if kind is not StageKind.BIND]

    def caller(self, parameters: Mapping[str, Value], workers: int | None) -> Caller | CudaCaller:
        """Return what calls the kernel's stages with these parameters, after the bind stage has run.

        Raises as `ragged.runtime.call.bind` does.
        """
        bound = bind(self.entries, parameters)
        launch = self.kernel.launch
        if launch is None:
            return Caller(self.call_stages, bound, workers=workers)
        from ragged.runtime.cuda.caller import CudaCaller  # here: most have no GPU

        assert self.cubin is not None, "it comes with its launch"
        return CudaCaller(self.entries, bound, launch, self.cubin)

    def named(self, role: Role) -> dict[str, str]:
        """Return, for the arguments that are buffers of a role, the buffers' own names by the arguments'."""
        return {
            argument.name: argument.symbol.name
            for argument in self.entries[StageKind.KERNEL].arguments
            if isinstance(argument.symbol, Buffer) and argument.symbol.role is role
        }


def load_kernel(kernel: Kernel, code: bytes, cubin: bytes | None = None) -> LoadedKernel:
    """Return a kernel that was compiled before, ready to be called; raises as `Executable.load` does.

    `cubin` is what runs on a GPU of a kernel that is for one.
    """
    if (kernel.launch is None) != (cubin is None):
        raise DataError(
            "compiled code is not what its description says", because="a kernel and its launch go together"
        )
    entries, *preludes = kernel.executable.load(code)
    return LoadedKernel(kernel, code, entries, tuple(preludes), cubin)
