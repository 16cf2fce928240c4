"""A compiled kernel, independent of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragged.codegen.entry import ArgumentKind, Entry, Value
from ragged.errors import DataError
from ragged.ir.expr import Buffer, Role
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller, bind
from ragged.runtime.cuda.caller import CudaCaller
from ragged.runtime.cuda.launch import Launch
from ragged.runtime.executable import Executable
from ragged.runtime.foreign import ForeignCaller

CUBIN = "kernel.cubin"
"""The member of a file that holds the code of a kernel for a GPU."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel as data, without its code.

    `programs` are the texts of the programs after all passes: the kernel's, then each prelude's. `listings` are other
    texts that `show` prints. `shares_columns` says whether workers share the columns of a batch, of which there are
    enough in any batch, or its rows. `launch` is given for a kernel that runs on a GPU: the executable's own kernel
    stage is then empty.
    """

    executable: Executable
    programs: tuple[str, ...]
    listings: dict[str, str]
    shares_columns: bool
    launch: Launch | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LoadedKernel:
    """A kernel in this process. `code` is its shared library, None where no linker made one.

    `entries` are the stages of its program, `preludes` those of the prelude programs; `cubin` is a GPU kernel's code.
    Code for another processor is not loaded: `is_loaded` is false, and calls are refused.
    """

    kernel: Kernel
    code: bytes | None
    entries: Mapping[StageKind, Entry]
    preludes: tuple[Mapping[StageKind, Entry], ...] = ()
    cubin: bytes | None = None
    is_loaded: bool = True

    @property
    def call_stages(self) -> list[Entry]:
        """The stages that a call runs, in order."""
        return [entry for kind, entry in self.entries.items() if kind is not StageKind.BIND]

    def caller(self, parameters: Mapping[str, Value], workers: int | None) -> Caller | CudaCaller:
        """Return the caller of the kernel's stages with these parameters, after running the bind stage.

        Raises as `ragged.runtime.call.bind` does.
        """
        if not self.is_loaded:
            return ForeignCaller(self.call_stages, parameters, self.kernel.executable, workers=workers)
        bound = bind(self.entries, parameters)
        launch = self.kernel.launch
        if launch is None:
            return Caller(self.call_stages, bound, workers=workers)
        assert self.cubin is not None, "it comes with its launch"
        return CudaCaller(self.entries, bound, launch, self.cubin)

    def prelude_callers(self) -> list[Caller]:
        """Return the callers of the preludes."""
        stages = [list(entries.values()) for entries in self.preludes]
        if self.is_loaded:
            return [Caller(each, {}) for each in stages]
        return [ForeignCaller(each, {}, self.kernel.executable) for each in stages]

    @property
    def sizes(self) -> dict[str, str]:
        """The names of sizes by the names of their arguments."""
        return {
            argument.name: argument.symbol.name
            for argument in self.entries[StageKind.KERNEL].arguments
            if argument.kind is ArgumentKind.SIZE
        }

    def named(self, role: Role) -> dict[str, str]:
        """Return the names of buffers of a role by the names of their arguments."""
        return {
            argument.name: argument.symbol.name
            for argument in self.entries[StageKind.KERNEL].arguments
            if isinstance(argument.symbol, Buffer) and argument.symbol.role is role
        }


def load_kernel(
    kernel: Kernel, code: bytes, cubin: bytes | None = None, *, anywhere: bool = False
) -> LoadedKernel:
    """Load compiled code; raises as `Executable.load` does. `cubin` is the code of a GPU kernel.

    With `anywhere` code that this processor cannot run is described, to be saved, and not loaded.
    """
    if (kernel.launch is None) != (cubin is None):
        raise DataError(
            "compiled code is not what its description says", because="a kernel and its launch go together"
        )
    is_loaded = kernel.executable.runs_here or not anywhere
    entries, *preludes = kernel.executable.load(code) if is_loaded else kernel.executable.describe(code)
    return LoadedKernel(kernel, code, entries, tuple(preludes), cubin, is_loaded)
