"""From a program to machine code: every stage through TIR and LLVM, loaded into this process."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragged.analysis.guarded_divisions import divides_under_condition
from ragged.analysis.strides import has_strides_of_a_call
from ragged.codegen.elf import undefined_symbols
from ragged.codegen.entry import Argument, Entry, Value, signature_of
from ragged.codegen.interface import SYMBOL_PREFIX, Interface, StageInterface, interface_of
from ragged.codegen.load_tvm import tirx, tvm
from ragged.codegen.lower_llvm import lower_for_llvm
from ragged.codegen.outlined_nests import OUTLINED, outline_equal_nests
from ragged.codegen.packed import packed
from ragged.codegen.target import Target, TargetLike, require_cpu
from ragged.codegen.target_features import (
    architecture_of,
    has_matrix_unit,
    has_quick_pairs,
    has_scale,
    native_target,
    parse_target,
)
from ragged.codegen.tir import StageFunction, stage_function, workers_of
from ragged.errors import InternalError, ScheduleError
from ragged.ir.program import Program, StageKind


@dataclass(frozen=True, slots=True)
class Generated:
    """A program's stages as code for a target, not loaded: TIR functions, and TVM's module of them all.

    The module may hold those of other programs too: see `generate_together`.
    """

    program: Program
    target: Target
    functions: Mapping[StageKind, StageFunction]
    module: Any

    def interface(self) -> Interface:
        """Return how the stages are called, whoever loads them."""
        stages = (
            StageInterface(kind, SYMBOL_PREFIX + stage.name, stage.checks, stage.team)
            for kind, stage in self.functions.items()
        )
        return interface_of(self.program, workers_of(self.program), stages)

    def function(self, kind: StageKind) -> StageFunction:
        """Return the stage of that kind; `InternalError` if the program has none."""
        function = self.functions.get(kind)
        if function is None:
            raise InternalError(f"program '{self.program.name}' has no stage '{kind.value}'")
        return function

    def jit(self, symbol: str) -> Any:
        """Return a stage's function, compiled into this process, by the name that `interface` has."""
        return self.module.get_function(symbol.removeprefix(SYMBOL_PREFIX))

    def tir(self, kind: StageKind) -> str:
        """Return the stage's TIR function as TVM prints it."""
        return str(self.function(kind).function.script())

    def asm(self, kind: StageKind) -> str:
        """Return the stage's machine code as assembly text, without the code that unpacks its arguments.

        Functions that it calls for equal loop nests come last. Of a stage that does nothing LLVM keeps nothing.
        """
        name = self.function(kind).name
        text = str(self.module.inspect_source("asm"))
        outlined = re.findall(rf"^(\S+{OUTLINED}{name}_\d+):$", text, re.MULTILINE)
        return "".join(_assembly(text, symbol) for symbol in (f"{name}_compute_", *outlined))

    def object_code(self) -> bytes:
        """Return the object file of all stages in the module."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stages.o"
            self.module.write_to_file(str(path), "o")
            return path.read_bytes()

    def undefined_symbols(self) -> frozenset[str]:
        """Return the names that the object file of all stages expects others to define."""
        return undefined_symbols(self.object_code())


@dataclass(frozen=True, slots=True)
class Compiled(Generated):
    """A program's stages as functions of this process.

    `signature` are the arguments that every stage takes, in order; `entries` are the stages to call.
    """

    signature: tuple[Argument, ...]
    entries: Mapping[StageKind, Entry]

    def entry(self, kind: StageKind) -> Entry:
        """Return the stage of that kind; `InternalError` if the program has none."""
        self.function(kind)
        return self.entries[kind]

    def call(self, kind: StageKind, arguments: Mapping[str, Value]) -> None:
        """Run a stage, slowly and with checks; see `Entry.__call__` for the arguments and the errors."""
        self.entry(kind)(arguments)


def generate(program: Program, target: TargetLike = "cpu") -> Generated:
    """Generate code for every stage of a verified program; see `compile_program`, which loads it too."""
    (generated,) = generate_together((program,), target)
    return generated


def generate_together(programs: Sequence[Program], target: TargetLike = "cpu") -> tuple[Generated, ...]:
    """Generate code for every stage of verified programs of different names, in one module and object file.

    Raises as `compile_program` does.
    """
    resolved = parse_target(target)
    require_cpu(resolved)
    made = [{stage.kind: stage_function(each, stage) for stage in each.stages} for each in programs]
    functions = [function for stages in made for function in stages.values()]
    if len({function.name for function in functions}) < len(functions):
        raise InternalError(f"stages of one name: {', '.join(function.name for function in functions)}")
    if any(function.unit for function in functions) and not has_matrix_unit(resolved):
        raise ScheduleError(
            f"tensorized loops: the processor of '{resolved}' has no matrix unit",
            because="it lacks the features amx-bf16 and amx-tile, or a process may not use them",
            fix="leave these loops serial, or compile for this machine where it has one: target='cpu'",
        )
    vectorizes = not any(map(divides_under_condition, programs))
    module = _build(functions, resolved, _options(programs), vectorizes=vectorizes)
    return tuple(
        Generated(each, resolved, stages, module) for each, stages in zip(programs, made, strict=True)
    )


def compile_program(program: Program, target: TargetLike = "cpu") -> Compiled:
    """Compile every stage of a verified program for `target` (see `parse_target`) and load it.

    Functions that are arrays are read from their storage, and those that are expressions are expanded in place.

    Raises `UserError` for a target that is not known, `ScheduleError` for one that has no code generator yet, or no
    matrix unit for tensorized loops, and for a local buffer that does not fit on the stack.
    """
    made = generate(program, target)
    workers = workers_of(program)
    signature = signature_of(program, workers)
    entries = {
        kind: Entry(kind, made.module.get_function(stage.name), signature, stage.checks, workers, stage.team)
        for kind, stage in made.functions.items()
    }
    return Compiled(program, made.target, made.functions, made.module, signature, entries)


def _assembly(text: str, symbol: str) -> str:
    begin = text.find(f"\n{symbol}:\n") + 1
    if not begin:
        return ""
    end = text.index(f"\t.size\t{symbol}", begin)
    noise = ("\t.loc\t", "\t.cfi_", ".Ltmp", ".Lfunc_", "\t.file\t")
    return "".join(line for line in text[begin:end].splitlines(keepends=True) if not line.startswith(noise))


def _options(programs: Sequence[Program]) -> tuple[str, ...]:
    """Return options of LLVM for programs: no loop strength reduction where strides are a call's.

    It keeps a pointer for each access of each nest in a loop, where strides are numbers one and offsets. A loop around
    ten nests of tiles then begins with a hundred additions in memory.
    """
    return ("-disable-lsr:bool=true",) if any(map(has_strides_of_a_call, programs)) else ()


def _build(
    functions: list[StageFunction], target: Target, options: tuple[str, ...] = (), *, vectorizes: bool = True
) -> Any:
    """Lower TIR functions and generate code for them, with LLVM's own vectorizers or without.

    TVM's own pipeline is not used: it simplifies floating-point arithmetic (`x * 0`, `x + 0`), narrows indices and
    moves large local buffers from the stack to an allocator inside loops. Nor is its pass that unpacks arguments: it
    tests each of them by branches, which are a sixth of a small kernel's code.
    """
    native = native_target(target, *options)
    module = tvm.IRModule({function.name: function.function for function in functions})
    passes = (
        tirx.transform.BindTarget(native),
        tirx.transform.VectorizeLoop(),
    )  # the second asks for the target
    with tvm.transform.PassContext(opt_level=3):
        vectorized = tvm.transform.Sequential(passes)(module)
    processor = architecture_of(target)
    quick = {"has_pairs": has_quick_pairs(target), "has_scale": has_scale(target)}
    lowered = {}
    for name, function in vectorized.functions.items():
        # before operations are lowered, so that each function has the helpers that it uses
        stage, outlined = outline_equal_nests(function, name.name_hint)
        lowered[name] = packed(lower_for_llvm(stage, processor, **quick), name.name_hint)
        for callee, nest in outlined.items():
            lowered[callee] = lower_for_llvm(nest, processor, **quick)
    build = tvm.get_global_func("target.build.llvm")
    plain = native_target(target, *options, "-vectorize-slp:bool=false", "-vectorize-loops:bool=false")
    if not vectorizes:
        return build(tvm.IRModule(lowered), plain)
    try:
        return build(tvm.IRModule(lowered), native)
    except tvm.error.InternalError as error:
        if "module verification failed" not in str(error):
            raise
        # LLVM's vectorizers of straight-line code and of loops made modules that LLVM's verifier refused.
        return build(tvm.IRModule(lowered), plain)
