"""Random schedules of a model: of its recursion, then of the loops that it becomes. What is refused changes nothing.

`Loops` is the second part: a program, the primitives that it took, and the program after each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from cortex.ilir.insert_order_checks import insert_order_checks
from ragged.errors import ScheduleError
from ragged.ir.equal import difference
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Forwarding, Rewritten, labels_of, loops_of
from ragged.ir.walk import leaves
from ragged.passes.contract_storage import contract_storage
from ragged.passes.discharge_checks import discharge_checks
from ragged.passes.insert_checks import insert_checks
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.split import Tail
from tests.support.random_loop_steps import STEPS
from tests.support.random_places import Places
from tests.support.tally import Tally

Pass = Callable[[Program], Rewritten]
CHECKED: tuple[Pass, ...] = (insert_order_checks, insert_checks)
STARTS: dict[str, tuple[Pass, ...]] = {
    "lowered": (),
    "discharged": (*CHECKED, discharge_checks),
    "contracted": (*CHECKED, discharge_checks, contract_storage),
    "checked": CHECKED,
}
"""The passes that a program may have seen before its loops are scheduled."""
NAMES = {each.__name__: each for each in (*STEPS, Tail)}
"""What a log names."""
LEAST_STEPS, MOST_STEPS, MOST_STATEMENTS, MOST_LOOPS = 3, 14, 120, 60


@dataclass
class Loops:
    """A program that is scheduled step by step; `stages` are the programs, with the step that left each."""

    draw: Random
    schedule: LoopSchedule
    tally: Tally
    start: str
    stages: list[tuple[str, Program]] = field(default_factory=list)
    reassociated: bool = False

    def some(self) -> None:
        """Try a few primitives, until the program is large."""
        for primitive in self.draw.choices(list(STEPS), k=self.draw.randint(LEAST_STEPS, MOST_STEPS)):
            program = self.schedule.program
            if len(loops_of(program)) > MOST_LOOPS or size(program) > MOST_STATEMENTS:
                break
            asked = STEPS[primitive](Places(self.draw, program), self)
            self(primitive, *asked.args, **asked.kwargs)

    @property
    def program(self) -> Program:
        """The program as it is now."""
        return self.schedule.program

    def __call__(self, primitive: Callable[..., Rewritten], *args: Any, **kwargs: Any) -> Forwarding | None:
        """Apply a primitive and check what it leaves; or see that a refusal left everything as it was."""
        old, log, name = self.schedule.program, self.schedule.log(), primitive.__name__
        before = to_text(old)
        try:
            forwarding = self.schedule.apply(primitive, *args, **kwargs)
        except ScheduleError as refusal:
            assert refusal.because or refusal.fix, f"a refusal that says nothing: {refusal}"
            self.tally.refuse(name, refusal)
            assert self.schedule.program is old and self.schedule.log() == log, name
            return None
        except Exception as error:
            error.add_note(
                f"in {name} of {[getattr(each, 'name', each) for each in args]}, {kwargs}, after\n{log}"
            )
            raise
        finally:
            assert to_text(old) == before, f"{name} changed the program that it was given"
        self.tally.accept(name)
        self.reassociated |= kwargs.get("reassociate", False)
        self.stages.append((self.schedule.log().splitlines()[-1], self.schedule.program))
        check_text(self.schedule.program, name)
        check_forwarding(old, self.schedule.program, forwarding, name)
        return forwarding


def random_loops(draw: Random, program: Program, tally: Tally) -> Loops:
    """Draw the schedule of a lowered program's loops."""
    start = draw.choices(list(STARTS), (3, 3, 3, 1))[0]
    for each in STARTS[start]:
        program = each(program).program
    loops = Loops(draw, LoopSchedule(program), tally, start, [(f"the {start} program", program)])
    loops.some()
    return loops


def size(program: Program) -> int:
    """Return how many statements a program's kernel has without those around them."""
    return sum(1 for _ in leaves(program.kernel))


def check_text(program: Program, what: str) -> None:
    """Check that a program parses back as it prints. That it verifies its schedule has seen to."""
    assert difference(program, parse(to_text(program))) is None, what


def check_forwarding(old: Program, new: Program, forwarding: Forwarding, what: str) -> None:
    """Check that the map knows all that was, and maps it to what is."""
    assert set(forwarding.loops) == set(loops_of(old)), what
    assert {b for found in forwarding.loops.values() for b in found} <= set(loops_of(new)), what
    assert set(forwarding.labels) == set(labels_of(old)), what
    assert {b for found in forwarding.labels.values() for b in found} <= set(labels_of(new)), what


def replayed(program: Program, log: str) -> LoopSchedule:
    """Return a new schedule of a program on which the steps of a log were taken."""
    schedule = LoopSchedule(program)
    exec(log, {"s": schedule, **NAMES})
    return schedule


def check_log(loops: Loops) -> None:
    """Check that the log, run again, gives the same program."""
    again = replayed(loops.stages[0][1], loops.schedule.log())
    assert to_text(again.program) == to_text(loops.schedule.program)
    assert again.log() == loops.schedule.log()
