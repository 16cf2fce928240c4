"""Random programs: their parallel loops in random orders compute the same."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ragged.errors import ScheduleError
from ragged.ir.expr import Call, Const, Expr, Role
from ragged.ir.interpret import interpret
from ragged.ir.program import Program
from ragged.ir.rewrite import loops_of
from ragged.ir.verify import verify
from ragged.transform.locate import the_loop
from ragged.transform.loops.declare_order import declare_order
from ragged.transform.loops.remap_iterations import remap_iterations
from tests.ragged.ir.strategies import Case, cases
from tests.ragged.transform.test_random_programs import at_once


def count(case: Case, extent: Expr) -> int:
    """Return how often a loop of that extent runs."""
    match extent:
        case Const(value=value):
            return int(value)
        case Call(function=function) if function.is_size:
            return case.sizes[function.name]
        case _:
            raise ScheduleError("it is no number and no size")


@settings(phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck))
@given(cases(), st.integers(0, 1000))
def test_any_order_computes_the_same(case, seed):
    for var in loops_of(case.program):
        program = at_once(case.program, var)
        try:
            iterations = count(case, the_loop(program, var, "test").extent)
            program = declare_order(program, "drawn_order", var).program
            program = remap_iterations(program, var, program.functions[-1]).program
        except ScheduleError:
            continue
        order = np.random.default_rng(seed).permutation(iterations).astype(np.int32)
        same(case, program, {**case.arrays, "drawn_order": order})


def same(case: Case, ordered: Program, arrays: dict[str, np.ndarray]) -> None:
    """Check that the ordered program, on the data and an order, leaves what the program does."""
    verify(ordered)
    expected = interpret(case.program, case.sizes, case.arrays, seed=0)
    got = interpret(ordered, case.sizes, arrays, seed=1)
    for buffer in case.program.buffers:
        if buffer.role is Role.OUTPUT:
            np.testing.assert_array_equal(got[buffer.name], expected[buffer.name])
