"""The compiler itself: from lowered programs through passes to machine code. All that needs TVM or Z3 is behind this.

Whoever compiles imports this module where he has to: a kernel that is cached, or was saved, does without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged.codegen.build import Generated, generate_together
from ragged.codegen.link import link
from ragged.codegen.target import TargetLike, architecture_of, features_of
from ragged.errors import UserError
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program, StageKind
from ragged.kernels.kernel import Kernel, LoadedKernel, load_kernel
from ragged.passes.pipeline import Pass, Step, run_passes
from ragged.runtime.executable import Executable

Listings = Callable[[Sequence[Step]], dict[str, str]]
"""From the steps of a kernel's program to the texts that its `show` prints besides the programs."""


def generate_kernel(
    programs: Sequence[Program], passes: Sequence[Pass], target: TargetLike, listings: Listings
) -> LoadedKernel:
    """Compile lowered programs and load them: the first through `passes`, its preludes as they are.

    Raises:
        UserError: the target is not known, no code can be generated for it, or this machine cannot run that.
    """
    steps = run_passes(programs[0], passes)
    final = (steps[-1].program, *programs[1:])
    made = generate_together(final, target)
    executable = _executable(made)
    kernel = Kernel(executable, tuple(map(to_text, final)), listings(steps))
    executable.check_processor()
    code = link(made[0].object_code())
    if code is not None:
        try:
            return load_kernel(kernel, code)
        except UserError:  # a folder for temporary files from which nothing may be run
            pass
    entries, *preludes = (each.entries(made[0].jit) for each in executable.interfaces)
    return LoadedKernel(kernel, None, entries, tuple(preludes))


def list_code(kernel: Kernel, code: bytes | None, stage: str) -> str:
    """Return the kernel as TVM has it ("tir") or as the machine does ("asm"), made anew from its programs.

    Raises:
        UserError: what the compiler makes of them here and now is not `code`: it is another version of it.
    """
    made = generate_together([parse(text) for text in kernel.programs], kernel.executable.target)[0]
    if code is not None and code != link(made.object_code()):
        raise UserError(
            f"show: '{stage}' of this function cannot be told",
            because="the compiler or the linker here makes other code of its loops than the one that made it",
            fix="show it where it was compiled, or compile it here",
        )
    return made.tir(StageKind.KERNEL) if stage == "tir" else made.asm(StageKind.KERNEL)


def notes_of(steps: Sequence[Step], name: str) -> tuple[str, ...]:
    """Return what the pass of that name had to say."""
    return next(step.notes for step in steps if step.name == name)


def _executable(made: Sequence[Generated]) -> Executable:
    target = made[0].target
    interface, *preludes = (each.interface() for each in made)
    return Executable(interface, str(target), architecture_of(target), features_of(target), tuple(preludes))
