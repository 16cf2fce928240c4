"""Running passes: each is verified, recorded, and named when it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import is_

from ragged.errors import InternalError
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.sites import forget_paths
from ragged.ir.verify import verify


@dataclass(frozen=True, slots=True)
class Pass:
    """A program rewriting, and the reason for its place in the pipeline."""

    run: Callable[[Program], Rewritten]
    reason: str

    @property
    def name(self) -> str:
        """The rewriting's own name."""
        return getattr(self.run, "__name__", str(self.run))


@dataclass(frozen=True, slots=True)
class Step:
    """A program as one pass left it; `result` is what the pass returned, None for the program that was given."""

    name: str
    program: Program
    result: Rewritten | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the pass found that is worth showing to people."""
        return () if self.result is None else self.result.notes


def run_passes(program: Program, passes: Sequence[Pass]) -> tuple[Step, ...]:
    """Run `passes` in order and return every step, the given program first.

    Raises InternalError, naming the pass, if a pass leaves a program that does not verify.
    """
    verify(program)
    steps = [Step("lower", program)]
    for each in passes:
        new = each.run(steps[-1].program)
        try:
            if not _is_same(new.program, steps[-1].program):
                verify(new.program)
        except InternalError as error:
            raise InternalError(f"pass '{each.name}' left an invalid program: {error.what}") from error
        steps.append(Step(each.name, new.program, new))
    forget_paths()
    return tuple(steps)


def _is_same(program: Program, verified: Program) -> bool:
    """Return whether a program is made of the very parts of one that has been verified."""
    ours, theirs = map(_parts, (program, verified))
    return len(ours) == len(theirs) and all(map(is_, ours, theirs))


def _parts(program: Program) -> list[object]:
    parts: list[object] = [program.functions, program.buffers, program.facts]
    for stage in program.stages:
        parts += [stage.kind, stage.body]
    return parts
