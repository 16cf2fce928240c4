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
from ragged.passes.drop_unread import drop_unread
from ragged.passes.insert_checks import insert_checks
from ragged.passes.serialize_loops import serialize_loops
from ragged.transform.code.pair_products import pair_products
from ragged.transform.loops.split import Tail
from tests.support.random_loop_steps import STEPS
from tests.support.random_places import Places
from tests.support.random_rules import RULES, WHOLE
from tests.support.random_targets import paired
from tests.support.recorded import Recorded
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
NAMES = {each.__name__: each for each in (*STEPS, contract_storage, drop_unread, serialize_loops, Tail)}
"""What a log names."""
RULE, WHOLE_SCHEDULE, ROUNDED = 0.1, 0.2, 0.3
"""How often a rule stands in place of a step, a whole default schedule after all, and rounded factors before that."""
LEAST_STEPS, MOST_STEPS, MOST_STATEMENTS, MOST_LOOPS = 3, 14, 120, 60


@dataclass
class Loops:
    """A program that is scheduled step by step; `stages` are the programs, with the step that left each."""

    draw: Random
    schedule: Recorded
    start: str
    stages: list[tuple[str, Program]] = field(default_factory=list)

    @classmethod
    def of(cls, draw: Random, program: Program, tally: Tally, start: str) -> Loops:
        """Return the schedule of a program without steps; `start` says how the program came to be."""
        return cls(draw, Recorded(program, tally), start, [(f"the {start} program", program)])

    def some(self) -> None:
        """Try a few primitives and rules, until the program is large, and sometimes a default schedule at last."""
        for primitive in self.draw.choices(list(STEPS), k=self.draw.randint(LEAST_STEPS, MOST_STEPS)):
            program = self.schedule.program
            if self._is_large():
                return
            if self.draw.random() < RULE:
                self.rule(self.draw.choice(list(RULES)))
                continue
            asked = STEPS[primitive](Places(self.draw, program), self)
            self(primitive, *asked.args, **asked.kwargs)
        if self.draw.random() < WHOLE_SCHEDULE and not self._is_large():
            if self.draw.random() < ROUNDED and pair_products in STEPS:
                self(pair_products, *paired(Places(self.draw, self.schedule.program), self).args)
            self.rule(self.draw.choice(list(WHOLE)))

    def _is_large(self) -> bool:
        program = self.schedule.program
        return len(loops_of(program)) > MOST_LOOPS or size(program) > MOST_STATEMENTS

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
            assert self.schedule.program is old and self.schedule.log() == log, name
            return None
        except Exception as error:
            error.add_note(
                f"in {name} of {[getattr(each, 'name', each) for each in args]}, {kwargs}, after\n{log}"
            )
            raise
        finally:
            assert to_text(old) == before, f"{name} changed the program that it was given"
        self.stages.append((self.schedule.log().splitlines()[-1], self.schedule.program))
        check_text(self.schedule.program, name)
        check_forwarding(old, self.schedule.program, forwarding, name)
        return forwarding

    def rule(self, name: str) -> None:
        """Apply a rule, or the steps that a default schedule says it took; one that changes nothing is refused."""
        old, log, tally = self.schedule.program, self.schedule.log(), self.schedule.tally
        before = to_text(old)
        try:
            if name in WHOLE:
                result = WHOLE[name](self.draw, old)
                exec("\n".join(result.notes), {"s": self.schedule, **NAMES})
                assert _kernel(self.schedule.program) == _kernel(result.program), (
                    "its log gives another program"
                )
            else:
                RULES[name](self.schedule, self.draw)
        except ScheduleError as refusal:
            tally.refuse(f"auto.{name}", refusal)
        except Exception as error:
            error.add_note(f"in the rule {name} after\n{log}\nand then\n{self.schedule.log()[len(log) :]}")
            raise
        else:
            if self.schedule.program is old:
                tally.refuse(f"auto.{name}", ScheduleError(name, because="it finds nothing to do"))
            else:
                tally.accept(f"auto.{name}")
        assert to_text(old) == before, f"{name} changed the program that it was given"
        self.stages.append((f"the rule {name}", self.schedule.program))
        check_text(self.schedule.program, name)


def _kernel(program: Program) -> str:
    return to_text(program).partition("with kernel:")[2]


def random_loops(draw: Random, program: Program, tally: Tally) -> Loops:
    """Draw the schedule of a lowered program's loops."""
    start = draw.choices(list(STARTS), (3, 3, 3, 1))[0]
    for each in STARTS[start]:
        program = each(program).program
    loops = Loops.of(draw, program, tally, start)
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


def replayed(program: Program, log: str) -> Recorded:
    """Return a new schedule of a program on which the steps of a log were taken."""
    schedule = Recorded(program)
    exec(log, {"s": schedule, **NAMES})
    return schedule


def check_log(loops: Loops) -> None:
    """Check that the log, run again, gives the same program."""
    again = replayed(loops.stages[0][1], loops.schedule.log())
    assert to_text(again.program) == to_text(loops.schedule.program)
    assert again.log() == loops.schedule.log()
