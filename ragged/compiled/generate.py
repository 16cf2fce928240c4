"""The compiler: from lowered programs through passes to machine code.

Imported only to compile: a kernel that is cached or saved does without this module, TVM and Z3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from sys import getrecursionlimit

from ragged.codegen.build import Generated, generate_together
from ragged.codegen.cuda.kernel import CudaKernel, cuda_kernel
from ragged.codegen.cuda.nvcc import cubin, ptx
from ragged.codegen.link import link
from ragged.codegen.target import TargetLike, cuda_architecture, read_target
from ragged.codegen.target_features import architecture_of, features_of
from ragged.compiled.kernel import Kernel, LoadedKernel, load_kernel
from ragged.compiled.log import COMPILE, Stopwatch
from ragged.errors import ModelError, ScheduleError, UserError
from ragged.ir.expr import Role
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import Block
from ragged.ir.walk import written
from ragged.passes.pipeline import Pass, Step, run_passes
from ragged.runtime.cuda.launch import Launch
from ragged.runtime.executable import Executable
from ragged.schedule.result import ScheduleResult

_ANY_PROCESSOR = "llvm -mcpu=generic"

Listings = Callable[[Sequence[Step]], dict[str, str]]
"""From the steps of a kernel's program to the texts that `show` prints besides the programs."""


def generate_kernel(
    programs: Sequence[Program], passes: Sequence[Pass], target: TargetLike, listings: Listings
) -> LoadedKernel:
    """Compile and load lowered programs: the first one through `passes`, its preludes as they are.

    The prelude of a kernel for a GPU is compiled for any processor of this machine's architecture: a saved function is
    loaded where the GPU is.

    Raises:
        UserError: the target is not known, or no code can be generated or linked for it.
        ModelError: expressions or statements are nested more deeply than Python's limit on recursion allows.
    """
    try:
        return _generate_kernel(programs, passes, target, listings)
    except RecursionError:
        raise ModelError(
            f"'{programs[0].name}' cannot be compiled: something is nested too deeply",
            because=f"Python's limit on recursion, {getrecursionlimit()}, is reached",
            fix="fewer operators in a node, fewer heights in a step of an unrolled recursion, or "
            "sys.setrecursionlimit with a larger number",
        ) from None


def _generate_kernel(
    programs: Sequence[Program], passes: Sequence[Pass], target: TargetLike, listings: Listings
) -> LoadedKernel:
    architecture, clock = cuda_architecture(target), Stopwatch()
    steps = clock.time("passes", lambda: run_passes(programs[0], passes))
    final = (steps[-1].program, *programs[1:])
    texts, listed = tuple(map(to_text, final)), listings(steps)
    columns = any(isinstance(s.result, ScheduleResult) and s.result.shares_columns for s in steps)
    code: bytes | None = None
    if architecture is None:
        generated = clock.time("code generation", lambda: generate_together(final, target))
        kernel = Kernel(_executable(generated), texts, listed, columns)
    else:
        device = cuda_kernel(final[0])
        code = clock.time("nvcc", lambda: cubin(device.source, architecture))
        host = (without_kernel(final[0]), *final[1:])
        generated = clock.time("code generation", lambda: generate_together(host, _ANY_PROCESSOR))
        executable = replace(_executable(generated), target=str(read_target(target)))
        listed["cuda"] = device.source
        kernel = Kernel(executable, texts, listed, columns, _launch(device, architecture))
    loaded = clock.time("linking", lambda: _loaded(kernel, generated, code))
    COMPILE.info("%s for %s: %s", programs[0].name, kernel.executable.target, clock)
    return loaded


def without_kernel(program: Program) -> Program:
    """Return a program with an empty kernel: the host part of a program with its kernel on a GPU.

    Raises:
        ScheduleError: its prelude fills arrays, which are not copied to the GPU.
    """
    prelude = program.stage(StageKind.PRELUDE)
    filled = set() if prelude is None else written(prelude.body)
    for buffer in filled:
        if buffer.role is not Role.LOCAL:
            raise ScheduleError(
                f"compile: the prelude of '{program.name}' fills '{buffer.name}'",
                because="a prelude runs on the host, and what it fills is not copied to a GPU",
                fix="target='cpu', or leave the work in the kernel",
            )
    stages = (replace(s, body=Block()) if s.kind is StageKind.KERNEL else s for s in program.stages)
    return replace(program, stages=tuple(stages))


def _launch(device: CudaKernel, architecture: str) -> Launch:
    return Launch(device.name, device.blocks, device.threads, device.shared_bytes, architecture)


def _loaded(kernel: Kernel, made: Sequence[Generated], cubin: bytes | None) -> LoadedKernel:
    code = link(made[0].object_code())
    if code is None and not kernel.executable.runs_here:
        architecture = kernel.executable.architecture
        raise UserError(
            f"compile: found no linker for '{kernel.executable.target}'",
            because=f"code for another processor is linked by lld or by {architecture}-linux-gnu-ld",
            fix=f"on Debian: apt-get install binutils-{architecture.replace('_', '-')}-linux-gnu",
        )
    if code is not None:
        try:
            return load_kernel(kernel, code, cubin, anywhere=True)
        except UserError:  # the folder for temporary files is mounted noexec
            pass
    entries, *preludes = (each.entries(made[0].jit) for each in kernel.executable.interfaces)
    return LoadedKernel(kernel, None, entries, tuple(preludes), cubin)


def list_code(kernel: Kernel, code: bytes | None, stage: str) -> str:
    """Return the kernel in TVM's IR ("tir") or in assembly ("asm"), generated anew from its programs.

    Raises:
        UserError: the compiler here generates other code than `code`: it is another version.
    """
    if kernel.launch is not None:
        return _list_device(kernel, kernel.launch.architecture, stage)
    made = generate_together([parse(text) for text in kernel.programs], kernel.executable.target)[0]
    if code is not None and code != link(made.object_code()):
        raise UserError(
            f"show: '{stage}' of this function cannot be told",
            because="the compiler or the linker here makes other code of its loops than the one that made it",
            fix="show it where it was compiled, or compile it here",
        )
    return made.tir(StageKind.KERNEL) if stage == "tir" else made.asm(StageKind.KERNEL)


def _list_device(kernel: Kernel, architecture: str, stage: str) -> str:
    if stage == "tir":
        raise UserError(
            "show: there is no 'tir' of a kernel for a GPU",
            because="its source is generated from the loops themselves",
            fix='show("cuda"), or show("loops")',
        )
    return ptx(kernel.listings["cuda"], architecture)


def notes_of(steps: Sequence[Step], *names: str) -> tuple[str, ...]:
    """Return the notes of the passes of these names, in order."""
    return tuple(note for step in steps if step.name in names for note in step.notes)


def _executable(made: Sequence[Generated]) -> Executable:
    target = made[0].target
    interface, *preludes = (each.interface() for each in made)
    return Executable(interface, str(target), architecture_of(target), features_of(target), tuple(preludes))
