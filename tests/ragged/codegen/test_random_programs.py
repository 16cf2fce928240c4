"""Machine code does what the interpreter does, on random programs."""

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from ragged.codegen.build import compile_program
from ragged.ir.expr import Role
from ragged.ir.interpret import interpret
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller, bind
from tests.ragged.ir.strategies import Case, cases


def run(case: Case) -> dict[str, np.ndarray]:
    """Compile and run a case the way a compiled function is run."""
    compiled = compile_program(case.program)
    given = {**case.sizes, **case.arrays}
    stored = {a.name: _stored(a.symbol, given[a.name]) for a in compiled.signature if a.name in given}
    bound = bind(compiled.entries, stored)
    entries = [
        compiled.entries[kind] for kind in (StageKind.PRELUDE, StageKind.KERNEL) if kind in compiled.entries
    ]
    kept = {name: bound[name] for name in bound if name not in case.sizes}
    return Caller(entries, kept)(case.sizes)


def _stored(symbol, value):
    order = getattr(symbol, "order", ())
    return value.transpose(order) if isinstance(value, np.ndarray) and order else value


@settings(
    max_examples=25,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(cases(teams=False))
def test_machine_code_is_the_interpreter(case):
    expected = interpret(case.program, case.sizes, case.arrays)
    got = run(case)
    outputs = [b for b in case.program.buffers if b.role is Role.OUTPUT and b.aliases is None]
    assert set(got) == {buffer.name for buffer in outputs}
    for buffer in outputs:
        want = expected[buffer.name]
        assert got[buffer.name].shape == want.shape
        if buffer.dtype.is_float:
            np.testing.assert_allclose(got[buffer.name], want, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(got[buffer.name], want)
