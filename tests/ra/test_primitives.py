"""Every primitive of a recursion's schedule for every model: legal, and then it agrees with the oracle, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

import cortex
from cortex import ra
from ragged.errors import ModelError, ScheduleError
from tests.ra.primitives import Subject, Trial, subjects, take, trials
from tests.ra.primitives_table import BEGIN, END, table
from tests.support.pages import check_part
from tests.support.random_structures import batches
from tests.support.real_trees import real_structures
from tests.support.scheduled import check_schedule
from tests.test_random_models import check_machine_code

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "recursion_primitives.md"
TOGETHER = 2
"""How many random choices of all that is legal are tried for each model."""
MODELS = [subject for subject in subjects() if not isinstance(subject.model, ModelError)]

NATIVE = {"dag_rnn": "Dag", "lstm": "Sequence", "gru": "Sequence"}
"""The kind of structure that a model is written for; trees for all others."""
COMPILED = ("tree_fc", "mv_rnn", "tree_lstm", "dag_rnn", "lstm")
"""One model of each kind of structure and of state."""


def native(subject: Subject) -> bool:
    """Whether a model runs on words over the kind of structure that it is written for."""
    return subject.input in ("", "word") and subject.kind == NATIVE.get(subject.name, "Tree")


def parameters(chosen: Callable[[Subject], bool], among: Sequence[Subject] = MODELS) -> list[Any]:
    """Return subjects as parameters of a test; all but the chosen ones are left to `make thorough`."""
    return [
        pytest.param(each, id=each.id, marks=() if chosen(each) else pytest.mark.thorough) for each in among
    ]


def test_the_page_has_the_table(request):
    wanted = f"\n{table(subjects())}\n"
    check_part(PAGE, BEGIN, END, wanted, renew=request.config.getoption("--renew-golden"))


def schedules_of(model: ra.Model, seed: str) -> dict[str, ra.Schedule]:
    """Return a schedule for each legal step, one for all of them, and some for a few of them in random order."""
    legal = [trial for trial in trials(model) if trial.refusal is None]
    draw = Random(seed)
    chosen = [[trial] for trial in legal] + [legal]
    chosen += [draw.sample(legal, draw.randint(2, len(legal))) for _ in range(TOGETHER)]
    made = (_schedule(model, steps) for steps in chosen)
    return {schedule.log(): schedule for schedule in made}


def _schedule(model: ra.Model, steps: Sequence[Trial]) -> ra.Schedule:
    """Take steps that are legal by themselves; what one of them asks for may be there already, or not any more."""
    schedule = ra.Schedule(model)
    for step in steps:
        try:
            take(schedule, model, step.primitive, step.at)
        except ScheduleError as error:
            assert any(
                said in error.what
                for said in ("already", "would change nothing", "nothing to hoist", "there is nothing of")
            )
    return schedule


@pytest.mark.parametrize(
    "subject", parameters(lambda each: native(each) and each.name in (*COMPILED, "tree_gru"))
)
@hypothesis.settings(max_examples=1, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@hypothesis.given(data=st.data())
def test_what_is_legal_agrees_with_the_oracle(subject, data):
    """Interpret every legal schedule of a model on random structures and on a real one."""
    plan = subject.model.plan()
    batch = data.draw(batches(plan).filter(lambda drawn: sum(len(each.children) for each in drawn) > 2))
    batch += real_structures(plan, count=1, most=25)
    params = subject.model.init_params(seed=len(batch))
    expected = ra.evaluate(subject.model, params, batch)
    for log, schedule in schedules_of(subject.model, subject.id).items():
        check_schedule(schedule, params, batch, expected, f"{subject.id}\n{log}")


@pytest.mark.parametrize(
    "subject",
    parameters(
        lambda each: native(each) and each.name in COMPILED,
        [each for each in MODELS if each.input in ("", "word")],
    ),
)
def test_all_that_is_legal_together_agrees_compiled(subject):
    batch = real_structures(subject.model.plan(), count=5, most=60)
    params = subject.model.init_params(seed=1)
    expected = ra.evaluate(subject.model, params, batch)
    legal = [trial for trial in trials(subject.model) if trial.refusal is None]
    function = cortex.compile(_schedule(subject.model, legal), params, threads=2)
    check_machine_code(function, batch, expected, subject.id)
