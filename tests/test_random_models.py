"""Random models on random structures: every way to run them agrees with the oracle.

Each example draws a model and a batch. The oracle says what the results are; machine code and the interpreter, of
every schedule and after every pass, have to give the same, and a structure's bits may not depend on its batch.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import hypothesis
from hypothesis import strategies as st

import cortex
from cortex import ra
from cortex.compiler.pipeline import passes_for
from cortex.linearize import Linearized, linearize
from ragged.errors import ScheduleError
from ragged.ir.equal import difference
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.walk import leaves
from ragged.machine import Grid
from ragged.passes.pipeline import run_passes
from tests.support.agreement import (
    Rows,
    at_roots,
    check_agreement,
    interpreted,
    roots_by_structure,
    schedules,
)
from tests.support.conditioned import well_conditioned
from tests.support.random_models import models
from tests.support.random_structures import batches

SMALL = 100
"""The statements of a program that is lowered, run and interpreted for a team in about a second."""
LARGEST = 250
"""A model of five branches on five conditions is larger than that: every one has a copy of what comes after it."""

Batch = list[cortex.Node]


@st.composite
def cases(draw: st.DrawFn) -> tuple[ra.Model, dict[str, Any], Batch, list[Rows]]:
    """Draw a model, its parameters, a batch, and what the oracle makes of it."""
    model = draw(models())
    params = model.init_params(seed=draw(st.integers(0, 3)))
    batch = draw(batches(model.plan()))
    expected = ra.evaluate(model, params, batch)
    hypothesis.assume(well_conditioned(model, params, batch, expected))
    return model, params, batch, expected


def most(share: float) -> hypothesis.settings:
    """Return settings for a share of the examples that the profile asks for."""
    return hypothesis.settings(max_examples=int(hypothesis.settings().max_examples * share))


@hypothesis.given(cases())
def test_every_schedule_means_what_the_oracle_says(case):
    model, params, batch, expected = case
    for name, schedule in schedules(model).items():
        linearized = linearize(schedule.plan(), batch)
        check_agreement(interpreted(schedule.lower(), linearized, params), expected, f"{name}, interpreted")


@most(0.06)
@hypothesis.given(cases(), st.integers(1, 5), st.integers(1, 4), st.integers(0, 400), st.integers(0, 9))
def test_a_grid_of_blocks_agrees_with_the_oracle_or_refuses(case, blocks, threads, shared_bytes, seed):
    model, params, batch, expected = case
    for name, schedule in schedules(model).items():
        program, linearized = schedule.lower(), linearize(schedule.plan(), batch)
        if len(list(leaves(program.kernel))) > SMALL:
            continue
        try:
            steps = run_passes(program, passes_for(1, Grid(blocks, threads, shared_bytes)))
        except ScheduleError:
            hypothesis.event("refused")
            continue
        hypothesis.event("taken")
        found = interpreted(steps[-1].program, linearized, params, seed=seed)
        check_agreement(found, expected, f"{name}, {blocks} blocks of {threads}")


@most(0.12)
@hypothesis.given(cases(), st.data())
def test_machine_code_and_every_pass_agree_with_the_oracle(case, data):
    model, params, batch, expected = case
    ways = schedules(model)
    name = data.draw(st.sampled_from([*ways]), label="schedule")
    size = _size(ways[name])
    hypothesis.assume(size <= LARGEST)
    threads = data.draw(st.sampled_from([1, 2]), label="threads") if size <= SMALL else 1
    roots_alone = data.draw(st.booleans(), label="roots alone")
    linearized = linearize(ways[name].plan(roots_alone=roots_alone), batch)
    if roots_alone:
        expected = at_roots(expected, linearized)
    function = cortex.compile(ways[name], params, threads=threads, keep="roots" if roots_alone else "nodes")
    check_machine_code(function, batch, expected, name, roots_alone=roots_alone)
    check_steps(ways[name].lower(roots_alone=roots_alone), threads, params, linearized, expected, name)


def _size(schedule: ra.Schedule) -> int:
    """Return how many statements a program has without those around them."""
    return sum(1 for _ in leaves(schedule.lower().kernel))


def check_machine_code(
    function: cortex.RecursiveFunction,
    batch: Batch,
    expected: list[Rows],
    what: str,
    *,
    roots_alone: bool = False,
) -> None:
    """Run and compare; then run structures by themselves and in another order: the same bits."""
    run = partial(_rows, function, roots_alone=roots_alone)
    whole = run(batch)
    check_agreement(whole, expected, f"{what}, compiled")
    alone = [run(structure)[0] for structure in batch]
    backward = run(batch[::-1])[::-1]
    for name in expected[0] if expected else ():
        for structure, rows in enumerate(whole):
            assert rows[name].tobytes() == alone[structure][name].tobytes(), f"{what}: alone"
            assert rows[name].tobytes() == backward[structure][name].tobytes(), f"{what}: in another order"


def check_steps(
    program: Program,
    threads: int,
    params: dict[str, Any],
    linearized: Linearized,
    expected: list[Rows],
    what: str,
) -> None:
    """Interpret the program as it is printed and parsed after each pass, and at the end as it is."""
    steps = run_passes(program, passes_for(threads))
    assert [step.name for step in steps[1:]] == [each.name for each in passes_for(threads)]
    for step in steps:
        again = parse(to_text(step.program))
        assert difference(step.program, again) is None, f"{what}, after {step.name}"
        check_agreement(interpreted(again, linearized, params), expected, f"{what}, after {step.name}")
    results = interpreted(steps[-1].program, linearized, params, seed=1)
    check_agreement(results, expected, f"{what}, interpreted at the end")


def _rows(function: cortex.RecursiveFunction, data: Any, *, roots_alone: bool) -> list[Rows]:
    linearized = function.linearize(data)
    output = function(linearized)
    if roots_alone:
        return roots_by_structure({name: output[name] for name in output}, linearized)
    nodes = {name: output.nodes(name) for name in output}
    return [
        {name: rows[structure] for name, rows in nodes.items()} for structure in range(output.num_structures)
    ]
