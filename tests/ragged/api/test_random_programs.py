"""Random ragged programs, scheduled at random: scheduled = unscheduled = interpreted = what they mean."""

from random import Random

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from ragged.ir.equal import difference
from tests.ragged.api.random_programs import Drawn, programs
from tests.ragged.api.random_schedules import DECISIONS, NEVER_REFUSED, REWRITINGS, Steps, replayed
from tests.ragged.api.running import expected, run


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


@settings(max_examples=60)
@given(programs())
def test_unscheduled_programs_compute_what_they_mean(drawn: Drawn):
    for each in drawn.data:
        got, want = run(drawn.schedule(), each), expected(drawn.schedule(), each)
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=1e-4, atol=1e-4)


@settings(max_examples=120)
@given(programs(), st.integers(0, 2**32))
def test_scheduled_programs_compute_the_same(drawn: Drawn, seed: int):
    steps = Steps(Random(seed), drawn.schedule())
    steps.some()
    for calls in drawn.data:
        same(run(steps.schedule, calls, seed=1), run(drawn.schedule(), calls))
    again = replayed(steps.schedule, steps.schedule.log())
    assert difference(again.lower(), steps.schedule.lower()) is None


@pytest.mark.parametrize("name", [*DECISIONS, *REWRITINGS])
def test_every_step_is_taken_by_some_program_and_refused_by_another(name: str):
    def tried(example: tuple[Drawn, int]) -> Steps:
        drawn, seed = example
        steps = Steps(Random(seed), drawn.schedule())
        (steps.decide if name in DECISIONS else steps.rewrite)(name)
        return steps

    # What is found is not shrunk, and a search ends at the first that is found.
    examples = st.tuples(programs(), st.integers(0, 2**32))
    search = settings(max_examples=500, phases=[Phase.generate])
    find(examples, lambda example: name in tried(example).taken, settings=search)
    if name not in NEVER_REFUSED:
        find(examples, lambda example: name in tried(example).refused, settings=search)


@settings(max_examples=12)
@given(programs(), st.integers(0, 2**32))
def test_machine_code_computes_what_is_interpreted(drawn: Drawn, seed: int):
    steps = Steps(Random(seed), drawn.schedule())
    steps.some()
    for calls in drawn.data:
        same(run(steps.schedule, calls, compiled=True), run(steps.schedule, calls))
