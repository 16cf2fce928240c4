"""From a program to machine code: every stage through TIR and LLVM, loaded into this process."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm
from tvm import tirx
from tvm.target import codegen

from ragged.codegen.elf import undefined_symbols
from ragged.codegen.entry import Argument, Entry, Value, signature_of
from ragged.codegen.lower_llvm import lower_for_llvm
from ragged.codegen.target import Target, TargetLike, parse_target, require_cpu
from ragged.codegen.tir import StageFunction, stage_function, workers_of
from ragged.errors import InternalError
from ragged.ir.program import Program, StageKind


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program's stages as functions of this process.

    `signature` are the arguments that every stage takes, in order; `entries` are the stages to call.
    """

    program: Program
    target: Target
    signature: tuple[Argument, ...]
    entries: Mapping[StageKind, Entry]
    functions: Mapping[StageKind, StageFunction]
    module: Any

    def entry(self, kind: StageKind) -> Entry:
        """Return the stage of that kind; `InternalError` if the program has none."""
        entry = self.entries.get(kind)
        if entry is None:
            raise InternalError(f"program '{self.program.name}' has no stage '{kind.value}'")
        return entry

    def call(self, kind: StageKind, arguments: Mapping[str, Value]) -> None:
        """Run a stage, slowly and with checks; see `Entry.__call__` for the arguments and the errors."""
        self.entry(kind)(arguments)

    def tir(self, kind: StageKind) -> str:
        """Return the stage's TIR function as TVM prints it."""
        return str(self.functions[self.entry(kind).kind].function.script())

    def asm(self, kind: StageKind) -> str:
        """Return the stage's machine code as assembly text, without the code that unpacks its arguments."""
        name = f"{self.functions[self.entry(kind).kind].name}_compute_"
        text = str(self.module.inspect_source("asm"))
        begin = text.index(f"\n{name}:\n") + 1
        end = text.index(f".size\t{name}", begin)
        noise = ("\t.loc\t", "\t.cfi_", ".Ltmp", ".Lfunc_", "\t.file\t")
        return "".join(
            line for line in text[begin:end].splitlines(keepends=True) if not line.startswith(noise)
        )

    def undefined_symbols(self) -> frozenset[str]:
        """Return the names that the object file of all stages expects others to define."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stages.o"
            self.module.write_to_file(str(path), "o")
            return undefined_symbols(path.read_bytes())

    def save(self, path: str | Path) -> None:
        """Write the stages as a shared library, which `tvm_ffi.load_module` loads. Needs a C++ compiler as linker."""
        self.module.export_library(str(path))


def compile_program(program: Program, target: TargetLike = "cpu") -> Compiled:
    """Compile every stage of a verified program for `target` (see `parse_target`) and load it.

    Functions that are arrays are read from their storage, and those that are expressions are expanded in place.

    Raises `UserError` for a target that is not known, `ScheduleError` for one that has no code generator yet and
    for a local buffer that does not fit on the stack.
    """
    resolved = parse_target(target)
    require_cpu(resolved)
    functions = {stage.kind: stage_function(program, stage) for stage in program.stages}
    module = _build([function for function in functions.values()], resolved)
    workers = workers_of(program)
    signature = signature_of(program, workers)
    entries = {
        kind: Entry(
            kind, module.get_function(function.name), signature, function.checks, workers, function.team
        )
        for kind, function in functions.items()
    }
    return Compiled(program, resolved, signature, entries, functions, module)


def _build(functions: list[StageFunction], target: Target) -> Any:
    """Lower TIR functions and generate code for them.

    TVM's own pipeline is not used: it simplifies floating-point arithmetic (`x * 0`, `x + 0`), narrows indices and
    moves large local buffers from the stack to an allocator inside loops. What is needed of it is little.
    """
    native = tvm.target.Target(target.tvm)
    passes = (
        tirx.transform.BindTarget(native.with_host(native)),  # all later ones ask for the target
        tirx.transform.VectorizeLoop(),
        tirx.transform.MakePackedAPI(),  # unpacks the arguments of tvm_ffi's calling convention
    )
    module = tvm.IRModule({function.name: function.function for function in functions})
    with tvm.transform.PassContext(opt_level=3):
        packed = tvm.transform.Sequential(passes)(module)
    processor = _processor(target)
    lowered = tvm.IRModule(
        {name: lower_for_llvm(function, processor) for name, function in packed.functions.items()}
    )
    return tvm.get_global_func("target.build.llvm")(lowered, native)


def _processor(target: Target) -> str:
    """Return what LLVM calls the kind of processor that code is for: "x86_64", "aarch64"."""
    triple = dict(target.settings).get("mtriple") or codegen.llvm_get_system_triple()
    return str(triple).partition("-")[0]
