"""Running passes: each is verified, recorded, and named when it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged.errors import InternalError
from ragged.ir.program import Program
from ragged.ir.rewrite import Forwarding, Rewritten
from ragged.ir.sites import forget_paths
from ragged.ir.verify import verify


@dataclass(frozen=True, slots=True)
class Pass:
    """A rewriting, and the reason for its place in the pipeline."""

    run: Callable[[Program], Rewritten]
    reason: str

    @property
    def name(self) -> str:
        """The rewriting's own name."""
        return getattr(self.run, "__name__", str(self.run))


@dataclass(frozen=True, slots=True)
class Step:
    """A program as one pass left it, with what the pass had to say: see `Rewritten`."""

    name: str
    program: Program
    forwarding: Forwarding | None
    notes: tuple[str, ...] = ()
    shares_columns: bool = False


def run_passes(program: Program, passes: Sequence[Pass]) -> tuple[Step, ...]:
    """Run `passes` in order and return every step, the given program first.

    Raises InternalError, naming the pass, if a pass leaves a program that does not verify.
    """
    verify(program)
    steps = [Step("lower", program, None)]
    for each in passes:
        new = each.run(steps[-1].program)
        try:
            verify(new.program)
        except InternalError as error:
            raise InternalError(f"pass '{each.name}' left an invalid program: {error.what}") from error
        steps.append(Step(each.name, new.program, new.forwarding, new.notes, new.shares_columns))
    forget_paths()
    return tuple(steps)
