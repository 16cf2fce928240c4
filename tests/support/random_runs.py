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
from ragged.codegen.cuda.kernel import cuda_kernel
from ragged.codegen.cuda.nvcc import cubin, find_nvcc
from ragged.codegen.target_features import has_matrix_unit, host_target
from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Role
from ragged.ir.interpret import interpret
from ragged.ir.printer import to_text
from ragged.ir.program import Program, StageKind
from ragged.ir.stmt import For, LoopKind
from ragged.ir.walk import statements
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.runtime.call import Caller, bind
from tests.ragged.ir.strategies import Case
from tests.support.agreement import BOUND, Rows, check_agreement, inputs, interpreted
from tests.support.conditioned import well_conditioned
from tests.support.library import library
from tests.support.random_cells import cells
from tests.support.random_dense import dense_cases
from tests.support.random_models import models
from tests.support.random_recursion_steps import random_recursion
from tests.support.random_schedules import Loops, check_log, random_loops, replayed, size
from tests.support.random_structures import batches
from tests.support.recorded import Recorded
from tests.support.tables import filled_tables, with_declared
from tests.support.tally import Tally

LARGEST = 60
"""The statements of a program that is scheduled in about a second."""
DENSE = 3
"""Of ten programs, those of dense nests."""
ROUNDED = 5e-2
"""The largest error of a result where factors are rounded to bfloat16."""


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

    def rows(self, program: Program) -> list[Rows]:
        """Interpret a program."""
        return interpreted(program, self.linearized, self.params, seed=self.seed, workers=1 + self.seed % 3)

    def arrays(self, program: Program, workers: int) -> tuple[dict[str, int], dict[str, Any]]:
        """Return the sizes and arrays of a call."""
        return inputs(program, self.linearized, self.params, workers, self.seed)

    def of_outputs(self, outputs: Rows) -> list[Rows]:
        """Return the rows of each structure."""
        return rows_by_structure(outputs, self.linearized)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def __str__(self) -> str:
        loops = (
            "" if self.loops is None else f"# the {self.loops.start} program\n{self.loops.schedule.log()}\n"
        )
        return f"\n{self.model}\n\n{self.recursion.log()}\n{loops}\n{self.batch}\nseed {self.seed}"


@dataclass
class DenseRun:
    """A program of dense nests with its data, and a schedule of its loops."""

    case: Case
    expected: list[Rows]
    loops: Loops
    seed: int

    def rows(self, program: Program) -> list[Rows]:
        """Interpret a program; its outputs are the rows of one structure."""
        workers = 1 + self.seed % 3
        outputs = interpret(program, *self.arrays(program, workers), workers=workers, seed=self.seed)
        return self.of_outputs(outputs)

    def arrays(self, program: Program, workers: int) -> tuple[dict[str, int], dict[str, Any]]:
        """Return the sizes and arrays of a call."""
        sizes, arrays = with_declared(program, self.case.sizes, self.case.arrays, workers, self.seed)
        return sizes, arrays | filled_tables(program, sizes, arrays)

    def of_outputs(self, outputs: Rows) -> list[Rows]:
        """Return the outputs that the case has."""
        names = [buffer.name for buffer in self.case.program.buffers if buffer.role is Role.OUTPUT]
        return [{name: outputs[name] for name in names}]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def __str__(self) -> str:
        return f"\n{to_text(self.case.program)}\n{self.loops.schedule.log()}\n{self.case.sizes}\nseed {self.seed}"


@st.composite
def runs(draw: st.DrawFn, tally: Tally) -> Run | DenseRun:
    """Draw a model, structures, and a schedule, or a dense program; `tally` counts what it was made of."""
    seed = draw(st.integers(0, 1 << 32))
    if draw(st.integers(0, 9)) < DENSE:
        case = draw(dense_cases())
        random = Random(f"{seed} {to_text(case.program)}")
        loops = random_loops(random, case.program, tally)
        run = DenseRun(case, [], loops, random.randrange(100))
        run.expected = run.rows(case.program)
        return run
    model = draw(small_models())
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


def check_run(run: Run | DenseRun, *, compiled: int) -> None:
    """Check that all agree with the oracle; `compiled` in a hundred as machine code too."""
    if isinstance(run, Run):
        rewritten = ra.evaluate(run.recursion.model, run.params, run.batch)
        check_agreement(rewritten, run.expected, "the model as the recursion's schedule rewrote it")
        before = interpreted(run.recursion.lower(), run.linearized, run.params)
        check_agreement(before, run.expected, "lowered")
    else:
        before = run.expected
    if run.loops is None:
        return
    check_loops(run, run.loops, before)
    if run.seed % 4 == 3:
        check_log(run.loops)
    if run.seed >= 100 - compiled:
        check_compiled(run, run.loops.schedule)


def check_loops(run: Run | DenseRun, loops: Loops, before: list[Rows]) -> None:
    """Interpret the scheduled program: the same bits as before, unless a step was asked to change the order of sums.

    If they are others, the fewest steps that do so are noted.
    """
    begin, log = loops.stages[0][1], loops.schedule.log().splitlines()

    def check(schedule: Recorded) -> None:
        for program, other, unless_reassociated in schedule.same_bits():
            wanted = before if program is begin else run.rows(program)
            got = run.rows(other)
            check_agreement(got, wanted, "scheduled", _bound(schedule))
            for mine, others in zip(got, wanted, strict=True):
                for name, rows in mine.items() if not (unless_reassociated and schedule.reassociated) else ():
                    assert rows.tobytes() == others[name].tobytes(), f"{name}: other bits"
        check_agreement(got, run.expected, "scheduled", ROUNDED if schedule.roundings else BOUND)

    def fails(steps: list[str]) -> bool:
        try:
            schedule = replayed(begin, "\n".join(steps))
        except ScheduleError:
            return False
        try:
            check(schedule)
        except Exception:
            return True
        return False

    try:
        check(loops.schedule)
    except Exception as error:
        error.add_note("steps that suffice:\n" + "\n".join(shortest(log, fails)))
        raise


def _bound(schedule: Recorded) -> float:
    """Return how far apart programs may be: where the order of sums may change, factors may be rounded otherwise."""
    return ROUNDED if schedule.roundings and schedule.reassociated else BOUND


def shortest(steps: list[str], fails: Callable[[list[str]], bool]) -> list[str]:
    """Return the steps without those that it fails without as well, last ones first."""
    for place in reversed(range(len(steps))):
        fewer = steps[:place] + steps[place + 1 :]
        if fails(fewer):
            steps = fewer
    return steps


def check_compiled(run: Run | DenseRun, schedule: Recorded) -> None:
    """Run a program as machine code, its multiplications and additions fused as in every kernel.

    One for a GPU is compiled alone, and one for a matrix unit only where the processor has one.
    """
    program = fuse_multiply_add(schedule.program).program
    kinds = {stmt.kind for stmt in statements(program.kernel) if isinstance(stmt, For)}
    if LoopKind.THREADS in kinds:
        check_cuda(program)
        return
    if is_for_grid(program) or (LoopKind.TENSORIZED in kinds and not has_matrix_unit(host_target())):
        return
    made = compile_program(program)
    workers = 1 + run.seed % 2
    sizes, arrays = run.arrays(program, workers)
    constant = {buffer.name for buffer in program.buffers if buffer.role is Role.PARAMETER}
    bound = bind(made.entries, {name: arrays[name] for name in constant})
    stages = [kind for kind in (StageKind.PRELUDE, StageKind.KERNEL) if kind in made.entries]
    given = {name: array for name, array in arrays.items() if name not in constant}
    got = Caller([made.entries[kind] for kind in stages], bound, workers=workers)({**sizes, **given})
    check_agreement(run.of_outputs(got), run.expected, "compiled", ROUNDED if schedule.roundings else BOUND)


def is_for_grid(program: Program) -> bool:
    """Return whether a kernel has blocks: a team of a number."""
    loops = (stmt for stmt in statements(program.kernel) if isinstance(stmt, For))
    return any(loop.kind is LoopKind.TEAM and isinstance(loop.extent, Const) for loop in loops)


def check_cuda(program: Program) -> None:
    """Compile a program for a GPU; one that no code is generated for is refused with a reason."""
    try:
        kernel = cuda_kernel(program)
    except ScheduleError as refusal:
        assert refusal.because, refusal
        return
    if find_nvcc() is not None:
        assert cubin(kernel.source, "sm_90")
