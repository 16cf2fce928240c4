"""Loops of a recursive model under a schedule of the user's: compiled, saved, and refused where they do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import cortex
from cortex import models, ra
from ragged.errors import ScheduleError, UserError
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform import distribute_over_team, fission, slice_columns, split, vectorize
from tests.support.agreement import check_agreement

TREES = [((1, 2), (3, (4, 5))), 6, ((1, (2, 3)), 4)]


def simple() -> tuple[ra.Model, ra.Schedule]:
    model = models.tree_rnn(hidden=6, embed=4, vocab=7)
    schedule = ra.Schedule(model)
    schedule.dynamic_batch()
    schedule.specialize_leaves()
    return model, schedule


def partly_scheduled(schedule: ra.Schedule, keep: str = "nodes"):
    """Return loops with some steps: a split, lanes, and what is serial."""
    loops = cortex.loop_schedule(schedule, keep=keep)
    copied = loops.loop("i", 0)
    _, lanes = loops.apply(split, copied, 2).loops[copied]
    loops.apply(vectorize, lanes)
    return loops


def check_function(fn: cortex.RecursiveFunction, model: ra.Model, params) -> None:
    out = fn(TREES)
    rows = {name: out.nodes(name) for name in out}
    found = [{name: rows[name][s] for name in rows} for s in range(len(TREES))]
    check_agreement(found, ra.evaluate(model, params, TREES), "own loops")


@pytest.mark.parametrize("by_default", ["default", None])
def test_what_is_left_open_is_scheduled_or_stays(by_default):
    model, schedule = simple()
    loops = partly_scheduled(schedule)
    params = model.init_params(seed=1)
    fn = cortex.compile(loops, params, threads=2, schedule=by_default)
    check_function(fn, model, params)
    steps = fn.show("schedule")
    assert steps.startswith(f"{schedule.log()}\n{loops.log()}")
    assert ("contract_storage" in steps) == (by_default == "default")
    assert "parallel" in fn.show("ilir") and "vectorized(2)" in fn.show("loops")
    assert fn.show("checks") and "parallel(" not in fn.show("loops")


def test_columns_of_a_team_by_hand(tmp_path):
    model, schedule = simple()
    loops = cortex.loop_schedule(schedule)
    inner = loops.loop("n", 1)
    _, products = loops.apply(fission, inner, loops.loop("i", 4)).loops[inner]
    loops.apply(slice_columns, products, tuple(loops.loop("i", at) for at in (5, 6, 7)), 3)
    loops.apply(distribute_over_team)
    params = model.init_params(seed=2)
    fn = cortex.compile(loops, params, threads=3, schedule=None)
    check_function(fn, model, params)
    fn.save(tmp_path / "own.cortex")
    loaded = cortex.load(tmp_path / "own.cortex")
    assert loaded.show("schedule") == fn.show("schedule")
    check_function(loaded.with_params(model.init_params(seed=3)), model, model.init_params(seed=3))


def test_roots_alone():
    model, schedule = simple()
    params = model.init_params(seed=1)
    fn = cortex.compile(partly_scheduled(schedule, "roots"), params, keep="roots", schedule=None)
    expected = [rows["h"][-1] for rows in ra.evaluate(model, params, TREES)]
    np.testing.assert_allclose(fn(TREES)["h"], expected, atol=1e-5)


def test_later_steps_of_the_recursion_change_no_loops():
    model, schedule = simple()
    loops = partly_scheduled(schedule)
    schedule.unroll(1)
    params = model.init_params(seed=1)
    check_function(cortex.compile(loops, params, schedule=None), model, params)
    assert not loops.recursion.plan().unrolled


def test_a_model_has_the_default_schedule_of_its_recursion():
    model, _ = simple()
    assert "hoist_inputs" in cortex.loop_schedule(model).recursion.log()


def refusals():
    model, schedule = simple()
    loops, params = cortex.loop_schedule(schedule), model.init_params(seed=0)

    def compiled(given=loops, **options):
        return lambda: cortex.compile(given, params, **options)

    return {
        "roots": (
            ScheduleError,
            compiled(keep="roots"),
            "compile: keep='roots' with loops for keep='nodes'\n"
            "  because: what is kept decides what the loops write\n"
            "  fix: keep='nodes', or cortex.loop_schedule(s, keep='roots')",
        ),
        "a program": (UserError, compiled(schedule.lower()), "what structures the model takes"),
        "loops of a program": (
            UserError,
            compiled(LoopSchedule(schedule.lower())),
            "cortex.loop_schedule(s)",
        ),
        "another schedule": (UserError, compiled(schedule="none"), "neither 'default' nor None"),
        "tables": (UserError, compiled(table_bytes=9), "s.tabulate"),
        "recursion": (
            ScheduleError,
            compiled(options=cortex.RecursionOptions(unroll=1)),
            "beside a schedule",
        ),
        "options": (
            ScheduleError,
            compiled(schedule=None, options=cortex.RecursionOptions(tile=(2, 2))),
            "compile: options or a precision with schedule=None\n"
            "  because: they are those of the default schedule\n"
            "  fix: schedule='default', or the primitives themselves",
        ),
        "precision": (ScheduleError, compiled(schedule=None, precision="bf16"), "the default schedule"),
        "keep": (
            UserError,
            lambda: cortex.loop_schedule(schedule, keep="all"),
            "neither 'nodes' nor 'roots'",
        ),
        "no recursion": (UserError, lambda: cortex.loop_schedule(schedule.lower()), "ra.Schedule(model)"),
    }


@pytest.mark.parametrize("name", list(refusals()))
def test_refusals(name):
    kind, call, text = refusals()[name]
    with pytest.raises(kind) as caught:
        call()
    assert text.replace("'", '"') in str(caught.value).replace("'", '"')
