"""The loop schedule of a recursive model: public primitives on the loops that its recursion became."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import get_args

from cortex.compiler.pipeline import CHECKS
from cortex.compiler.scheduled_loops import Keep, ScheduledLoops
from cortex.ra.model import Model
from cortex.ra.schedule import RecursionSchedule, default_schedule
from ragged.compiled.generate import notes_of
from ragged.errors import UserError
from ragged.ir.printer import to_text
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import block
from ragged.ir.walk import written
from ragged.passes.assume import assume
from ragged.passes.pipeline import run_passes
from ragged.schedule.loop_schedule import LoopSchedule


class RecursionLoops(LoopSchedule, ScheduledLoops):
    """The loops of a recursive model, to which primitives of `ragged.transform` are applied; see `LoopSchedule`.

    `program` is without the checks of what structures hold, which compiling adds.
    """

    def __init__(self, recursion: Model | RecursionSchedule, keep: Keep = "nodes") -> None:
        """Lower a recursion and prove the checks of its accesses; arguments and errors are `loop_schedule`'s."""
        if keep not in get_args(Keep):
            raise UserError(f"loop_schedule: keep={keep!r} is neither 'nodes' nor 'roots'")
        if isinstance(recursion, Model):
            recursion = default_schedule(recursion)
        if not isinstance(recursion, RecursionSchedule):
            raise UserError(
                f"loop_schedule: {type(recursion).__name__} is neither a model nor a schedule of a recursion",
                because="the linearizer follows from the model and from what its recursion schedule asks of structures",
                fix="cortex.loop_schedule(ra.Schedule(model))",
            )
        self.recursion, self.keep = copy(recursion), keep
        self._checks = run_passes(recursion.lower(roots_alone=keep == "roots"), CHECKS)
        program = self._checks[-1].program
        stages = (s for s in program.stages if s.kind is not StageKind.PRELUDE or written(s.body))
        super().__init__(replace(program, stages=tuple(stages)))

    def checked(self) -> Program:
        """Return the program with a prelude that checks what all proofs assumed of data."""
        program = self.program
        before = self._checks[-1].program.stage(StageKind.PRELUDE)
        if before is not None and not written(before.body):
            bodies = {stage.kind: stage.body for stage in program.stages}
            bodies[StageKind.PRELUDE] = block(
                before.body, *(s.body for s in program.stages if s.kind is before.kind)
            )
            program = replace(
                program, stages=tuple(Stage(kind, bodies[kind]) for kind in StageKind if kind in bodies)
            )
        return assume(program, self._assumed)

    def listings(self) -> dict[str, str]:
        """Return the texts that `show` prints of the steps so far."""
        return {
            "ilir": to_text(self._checks[0].program),
            "checks": "\n".join(dict.fromkeys(notes_of(self._checks, "discharge_checks"))),
            "steps": self.log(),
        }
