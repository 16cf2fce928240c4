"""The default schedule's log, pasted back, gives the program and the TIR that the default schedule gave."""

from __future__ import annotations

import importlib
import pkgutil
from enum import Enum
from typing import Any

import pytest

import ragged.passes
import ragged.transform
from cortex import models
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.codegen.tir import stage_function
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.verify import verify
from ragged.machine import Grid
from ragged.passes.pipeline import run_passes
from ragged.schedule.loop_schedule import LoopSchedule
from tests.support.cells import child_sum

MODELS = {
    "tree_fc": models.tree_fc(hidden=72, vocab=50),
    "tree_lstm": models.tree_lstm(hidden=64, embed=40, vocab=50),
    "tree_lstm, projected": models.tree_lstm(hidden=64, input="projected"),
    "mv_rnn": models.mv_rnn(hidden=24, vocab=50),
    "tree_sum": models.tree_sum(hidden=16, vocab=50),
    "child_sum": child_sum(hidden=48),
}
"""Widths that tiles fill, that leave a rest, and that are too narrow for some."""
TRIED = (("tree_fc", 1), ("tree_lstm", 2), ("mv_rnn", 2), ("tree_sum", 1), ("tree_sum", 2), ("child_sum", 2))
OTHERS = (
    pytest.param(name, threads, marks=pytest.mark.thorough)
    for name in MODELS
    for threads in (1, 2)
    if (name, threads) not in TRIED
)


def names() -> dict[str, Any]:
    """Return what a log speaks of: every primitive, and the enumerations of their arguments."""
    found: dict[str, Any] = {}
    for package in (ragged.transform, ragged.passes):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            loaded = importlib.import_module(module.name)
            for name, value in vars(loaded).items():
                if name == module.name.rpartition(".")[2] or (
                    isinstance(value, type) and issubclass(value, Enum)
                ):
                    found[name] = value
    return found


def tir(program: Program) -> str:
    return "\n".join(str(stage_function(program, stage).function.script()) for stage in program.stages)


@pytest.mark.parametrize(("name", "threads"), [*TRIED, *OTHERS])
def test_the_log_pasted_back_gives_the_same_tir(name, threads):
    steps = run_passes(default_schedule(MODELS[name]).lower(), passes_for(threads))
    place = next(k for k, step in enumerate(steps) if step.name == "default_schedule")
    log = "\n".join(steps[place].notes)
    assert name == "tree_sum" or log.count("s.apply(") > 10
    before, after = steps[place - 1].program, steps[place].program
    program = taken_again(log, before)
    assert to_text(program) == to_text(after)
    for each in passes_for(threads)[place:]:
        program = each.run(program).program
    assert tir(program) == tir(steps[-1].program)
    # And as from the texts alone: the program's and the log's.
    assert to_text(taken_again(log, parse(to_text(before)))) == to_text(after)


def test_the_log_of_a_grids_schedule_gives_the_same_program():
    steps = run_passes(default_schedule(MODELS["tree_lstm"]).lower(), passes_for(1, Grid(5, 8, 10_000)))
    place = next(k for k, step in enumerate(steps) if step.name == "default_schedule")
    log = "\n".join(note for note in steps[place].notes if not note.startswith("#"))
    program = taken_again(log, steps[place - 1].program)
    assert program.kernel == steps[place].program.kernel or to_text(program) == to_text(steps[place].program)


def taken_again(log: str, program: Program) -> Program:
    s = LoopSchedule(program, trusted=True)
    exec(log, {**names(), "s": s})
    assert s.log() == log
    again = s.checked()
    verify(again)
    return again
