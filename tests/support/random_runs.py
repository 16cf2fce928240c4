"""The property of every schedule: a random model, random structures and a random schedule agree with the oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import hypothesis
from hypothesis import strategies as st

import cortex
from cortex import ra
from cortex.compiler.interpret import rows_by_structure
from cortex.linearize import Linearized, linearize
from ragged.codegen.build import compile_program
from ragged.errors import ScheduleError
from ragged.ir.expr import Role
from ragged.ir.program import Program, StageKind
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.runtime.call import Caller, bind
from tests.support.agreement import Rows, check_agreement, inputs, interpreted
from tests.support.conditioned import well_conditioned
from tests.support.library import library
from tests.support.random_cells import cells
from tests.support.random_models import models
from tests.support.random_recursion_steps import random_recursion
from tests.support.random_schedules import Loops, check_log, random_loops, replayed, size
from tests.support.random_structures import batches
from tests.support.tally import Tally

LARGEST = 60
"""The statements of a program that is scheduled in about a second."""


@dataclass
class Run:
    """A model, structures, and a schedule of both kinds; `loops` is None where the lowered program is large."""

    model: ra.Model
    params: dict[str, Any]
    batch: list[cortex.Node]
    expected: list[Rows]
    recursion: ra.Schedule
    loops: Loops | None
    seed: int

    @property
    def linearized(self) -> Linearized:
        return linearize(self.recursion.plan(), self.batch)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def __str__(self) -> str:
        loops = (
            "" if self.loops is None else f"# the {self.loops.start} program\n{self.loops.schedule.log()}\n"
        )
        return f"\n{self.model}\n\n{self.recursion.log()}\n{loops}\n{self.batch}\nseed {self.seed}"


@st.composite
def runs(draw: st.DrawFn, tally: Tally) -> Run:
    """Draw a model, structures, and a schedule; `tally` counts what it was made of."""
    model = draw(small_models())
    seed = draw(st.integers(0, 1 << 32))
    params = model.init_params(seed=seed % 4)
    batch = draw(batches(model.plan()))
    expected = ra.evaluate(model, params, batch)
    hypothesis.assume(well_conditioned(model, params, batch, expected))
    hypothesis.note(f"{model}")
    # Hypothesis draws a number again and again with other things around it: the same steps for all would be few.
    random = Random(f"{seed} {model} {batch}")
    recursion = random_recursion(random, model, tally)
    hypothesis.note(f"{recursion.log()}")
    program = recursion.lower()
    loops = None if size(program) > LARGEST else random_loops(random, program, tally)
    return Run(model, params, batch, expected, recursion, loops, random.randrange(100))


@st.composite
def small_models(draw: st.DrawFn) -> ra.Model:
    """Draw a model of the library, a cell, or any other."""
    match draw(st.sampled_from(["library", "cell", "any"])):
        case "library":
            return library()[draw(st.sampled_from(list(library())))]
        case "cell":
            return draw(cells(hidden=2, embed=2))
        case _:
            return draw(models())


def check_run(run: Run, *, compiled: int) -> None:
    """Check that all agree with the oracle; `compiled` in a hundred as machine code too."""
    rewritten = ra.evaluate(run.recursion.model, run.params, run.batch)
    check_agreement(rewritten, run.expected, "the model as the recursion's schedule rewrote it")
    before = interpreted(run.recursion.lower(), run.linearized, run.params)
    check_agreement(before, run.expected, "lowered")
    if run.loops is None:
        return
    check_loops(run, run.loops, before)
    if run.seed % 4 == 3:
        check_log(run.loops)
    if run.seed >= 100 - compiled:
        check_compiled(run, run.loops.program)


def check_loops(run: Run, loops: Loops, before: list[Rows]) -> None:
    """Interpret the scheduled program: the same bits as before, unless a step was asked to change the order of sums.

    If they are others, the fewest steps that do so are noted.
    """
    begin, log = loops.stages[0][1], loops.schedule.log().splitlines()

    def check(program: Program) -> None:
        got = interpreted(program, run.linearized, run.params, seed=run.seed, workers=1 + run.seed % 3)
        check_agreement(got, run.expected, "scheduled")
        for mine, others in zip(got, before, strict=True) if not loops.reassociated else ():
            for name, rows in mine.items():
                assert rows.tobytes() == others[name].tobytes(), f"{name}: other bits"

    def fails(steps: list[str]) -> bool:
        try:
            program = replayed(begin, "\n".join(steps)).program
        except ScheduleError:
            return False
        try:
            check(program)
        except Exception:
            return True
        return False

    try:
        check(loops.program)
    except Exception as error:
        error.add_note("steps that suffice:\n" + "\n".join(shortest(log, fails)))
        raise


def shortest(steps: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Return the steps without those that it fails without as well, last ones first."""
    for place in reversed(range(len(steps))):
        fewer = steps[:place] + steps[place + 1 :]
        if fails(fewer):
            steps = fewer
    return steps


def check_compiled(run: Run, program: Program) -> None:
    """Run a program as machine code, its multiplications and additions fused as in every kernel."""
    made = compile_program(fuse_multiply_add(program).program)
    linearized, workers = run.linearized, 1 + run.seed % 2
    sizes, arrays = inputs(program, linearized, run.params, workers, run.seed)
    constant = {buffer.name for buffer in program.buffers if buffer.role is Role.PARAMETER}
    bound = bind(made.entries, {name: arrays[name] for name in constant})
    kinds = [kind for kind in (StageKind.PRELUDE, StageKind.KERNEL) if kind in made.entries]
    given = {name: array for name, array in arrays.items() if name not in constant}
    got = Caller([made.entries[kind] for kind in kinds], bound, workers=workers)({**sizes, **given})
    check_agreement(rows_by_structure(got, linearized), run.expected, "compiled")
