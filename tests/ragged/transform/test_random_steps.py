"""Random programs, and any primitives in any order: what is accepted changes no bit, what is refused nothing at all."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from ragged.ir.expr import Role, Source
from ragged.ir.interpret import interpret
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.rewrite import loops_of
from tests.ragged.ir.strategies import Case, cases
from tests.support.random_dense import dense_cases
from tests.support.random_schedules import Loops
from tests.support.tables import with_declared
from tests.support.tally import Tally

WORKERS = 2


def run(case: Case, program: Program, seed: int) -> dict[str, np.ndarray]:
    """Interpret a program on a case's data and on what its schedule asks for."""
    sizes, arrays = with_declared(program, case.sizes, case.arrays, WORKERS, seed)
    return interpret(program, sizes, arrays, workers=WORKERS, seed=seed)


def _tables(program: Program) -> set[str]:
    """Return the tables that a prelude fills: a case gives its own, and what is made of those is nowhere said."""
    return {function.name for function in program.functions if function.source is Source.PRELUDE}


@settings(phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck))
@given(st.one_of(cases(), dense_cases()), st.integers(0, 1 << 32))
def test_any_steps_leave_every_bit(case, seed):
    assume(len(loops_of(case.program)) > 1)
    loops = Loops.of(Random(f"{seed} {to_text(case.program)}"), case.program, Tally(), "drawn")
    loops.some()
    assume(not loops.schedule.reassociated and _tables(loops.program) == _tables(case.program))
    for program, other, _ in loops.schedule.same_bits():
        expected, got = run(case, program, 0), run(case, other, 1)
        for buffer in case.program.buffers:
            if buffer.role is Role.OUTPUT:
                np.testing.assert_array_equal(got[buffer.name], expected[buffer.name], loops.schedule.log())
