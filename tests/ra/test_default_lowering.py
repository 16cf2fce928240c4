"""Random models: whatever a schedule leaves out or computes earlier, the results are the oracle's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from cortex import Node, ra
from cortex.ilir.insert_order_checks import insert_order_checks
from cortex.linearize import linearize
from cortex.ra.schedule import default_schedule
from ragged.errors import ScheduleError
from ragged.ir.verify import verify
from tests.support.agreement import Rows, check_agreement, interpreted
from tests.support.random_cells import cells
from tests.support.random_structures import batches
from tests.test_random_models import cases, most

STEPS: dict[str, Callable[[ra.Schedule], None]] = {
    "batched": lambda schedule: schedule.dynamic_batch(),
    "leaves": lambda schedule: schedule.specialize_leaves(),
    "inputs": lambda schedule: schedule.hoist_inputs(),
}


def schedules(model: ra.Model) -> Iterator[tuple[str, ra.Schedule]]:
    """Yield the default schedule, and every other combination of steps."""
    yield "default", default_schedule(model)
    for count in (0, 1, 2, 3):
        for names in combinations(STEPS, count):
            schedule = ra.Schedule(model)
            try:
                for name in names:
                    STEPS[name](schedule)
            except ScheduleError:
                continue
            yield ", ".join(names), schedule


def check(model: ra.Model, params: dict[str, Any], batch: list[Node], expected: Sequence[Rows]) -> None:
    """Compare what each schedule's program computes with the oracle."""
    for name, schedule in schedules(model):
        program = schedule.lower()
        verify(program)
        linearized = linearize(schedule.plan(), batch)
        check_agreement(interpreted(program, linearized, params), expected, name)
        checked = insert_order_checks(program).program
        check_agreement(interpreted(checked, linearized, params), expected, f"{name}, its order checked")
        assert schedule.finite <= set(model.inputs)


@most(0.1)
@hypothesis.given(cases())
def test_models_of_every_kind(case):
    check(*case)


@pytest.mark.thorough
@most(0.4)
@hypothesis.given(cases())
def test_more_models_of_every_kind(case):
    check(*case)


@most(0.2)
@hypothesis.given(st.data(), cells())
def test_cells(data, model):
    check_cell(data, model)


@pytest.mark.thorough
@hypothesis.given(st.data(), cells())
def test_more_cells(data, model):
    check_cell(data, model)


def check_cell(data: st.DataObject, model: ra.Model) -> None:
    params = model.init_params(seed=data.draw(st.integers(0, 3)))
    batch = data.draw(batches(model.plan()))
    check(model, params, batch, ra.evaluate(model, params, batch))
