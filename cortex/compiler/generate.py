"""The compiler itself: from a lowered program through the passes to machine code. All that needs TVM or Z3 is here.

`cortex.compile` imports this module where it has to compile: a kernel that is cached, or was saved, does without.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.compiler.kernel import Kernel, LoadedKernel, load_kernel
from cortex.compiler.patience import operations_of
from cortex.compiler.pipeline import passes_for
from ragged.codegen.build import Generated, generate
from ragged.codegen.link import link
from ragged.codegen.target import TargetLike, architecture_of, features_of
from ragged.errors import UserError
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program, StageKind
from ragged.passes.pipeline import Step, run_passes
from ragged.runtime.executable import Executable


def lowering_steps(program: Program, threads: int) -> tuple[Step, ...]:
    """Return a program as each pass leaves it, the given one first and the one that code is made of last."""
    return run_passes(program, passes_for(threads))


def generate_kernel(program: Program, target: TargetLike, threads: int) -> LoadedKernel:
    """Compile a lowered program for at most so many threads, and load it.

    Raises:
        UserError: the target is not known, no code can be generated for it, or this machine cannot run that.
    """
    steps = lowering_steps(program, threads)
    made = generate(steps[-1].program, target)
    executable = Executable(
        made.interface(), str(made.target), architecture_of(made.target), features_of(made.target)
    )
    kernel = Kernel(executable, operations_of(program), _listings(steps))
    executable.check_processor()
    code = link(made.object_code())
    if code is not None:
        try:
            return load_kernel(kernel, code)
        except UserError:  # a folder for temporary files from which nothing may be run
            pass
    return LoadedKernel(kernel, None, executable.interface.entries(made.jit))


def list_code(kernel: Kernel, code: bytes | None, stage: str) -> str:
    """Return the kernel as TVM has it ("tir") or as the machine does ("asm"), made anew from its loops.

    Raises:
        UserError: what the compiler makes of the loops here and now is not `code`: it is another version of it.
    """
    made = generate(parse(kernel.listings["loops"]), kernel.executable.target)
    if code is not None and code != link(made.object_code()):
        raise UserError(
            f"show: '{stage}' of this function cannot be told",
            because="the compiler or the linker here makes other code of its loops than the one that made it",
            fix="show it where it was compiled, or compile the model here",
        )
    return _listing(made, stage)


def _listing(made: Generated, stage: str) -> str:
    return made.tir(StageKind.KERNEL) if stage == "tir" else made.asm(StageKind.KERNEL)


def _listings(steps: Sequence[Step]) -> dict[str, str]:
    def notes(name: str) -> tuple[str, ...]:
        return next(step.notes for step in steps if step.name == name)

    return {
        "ilir": to_text(steps[0].program),
        "steps": "\n".join(notes("default_schedule")),
        "loops": to_text(steps[-1].program),
        "checks": "\n".join(dict.fromkeys(notes("discharge_checks"))),
    }
