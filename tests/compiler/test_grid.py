"""Programs for a grid of blocks: interpreted, they are the oracle's; what is planted in them is found."""

from __future__ import annotations

import inspect
import re
from functools import cache

import pytest

from cortex import models, ra
from cortex.linearize import linearize
from cortex.ra.schedule import default_schedule
from ragged.codegen.cuda.kernel import cuda_kernel
from ragged.errors import InternalError
from ragged.ir.interpret import BarrierDivergence, Fault, Race
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.verify import verify
from ragged.machine import Grid
from tests.compiler.grids import GRID, HIDDEN, model_of, program_of, steps_of, trees
from tests.support.agreement import check_agreement, interpreted
from tests.support.scheduled import some_structures

GRIDS = {"small": GRID, "more blocks than columns": Grid(9, 3, 4096), "one block": Grid(1, 2, 4096)}


@cache
def program(name: str, grid: str) -> Program:
    """Return a model's program for a grid; scheduled when a test needs it, not when tests are collected."""
    return program_of(name, GRIDS[grid])


def lines_of(name: str) -> list[str]:
    return to_text(program(name, "small")).splitlines()


def lines_like(name: str, pattern: str) -> list[tuple[int, str]]:
    """Return the lines of a model's program that match a pattern, without indentation, and their numbers."""
    lines = [(number, line.strip()) for number, line in enumerate(lines_of(name))]
    return [(number, line) for number, line in lines if re.fullmatch(pattern, line)]


def check(name: str, program: Program, seed: int, leaves: int = 5) -> None:
    """Interpret a program on random trees and compare it with the oracle."""
    model = model_of(name)
    params, batch = model.init_params(seed=seed), trees(name, seed, leaves=leaves)
    results = interpreted(program, linearize(default_schedule(model).plan(), batch), params, seed=seed)
    check_agreement(results, ra.evaluate(model, params, batch), f"{name}, seed {seed}")


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", HIDDEN)
def test_threads_in_any_order_compute_what_the_oracle_says(name, grid):
    for seed in range(3):
        check(name, program(name, grid), seed)


@pytest.mark.parametrize("name", [each for each in models.__all__ if each != "from_torch"])
def test_every_model_of_the_library_has_a_kernel_for_a_grid(name):
    make = getattr(models, name)
    known = inspect.signature(make).parameters
    sizes = {"hidden": 5, "embed": 4, "vocab": 7, "input": "word"}
    model = make(**{key: size for key, size in sizes.items() if key in known})
    params, batch = model.init_params(seed=0), some_structures(model)
    program = steps_of(model)[-1].program
    results = interpreted(program, linearize(default_schedule(model).plan(), batch), params)
    check_agreement(results, ra.evaluate(model, params, batch), name)
    assert cuda_kernel(program).blocks <= GRID.blocks


@pytest.mark.parametrize("name", HIDDEN)
def test_what_prints_parses_back_and_verifies(name):
    text = to_text(program(name, "small"))
    parsed = parse(text)
    verify(parsed)
    assert to_text(parsed) == text


def planted(name: str, number: int, line: str) -> Program:
    """Return a model's program with another line in place of one, indented as that is."""
    lines = lines_of(name)
    indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
    lines[number] = indent + line
    return parse("\n".join(lines) + "\n")


def found(name: str, program: Program) -> Fault:
    """Return what interpreting a program on a few batches finds wrong with it."""
    for seed in range(4):
        try:
            check(name, program, seed, leaves=6)
        except Fault as fault:
            return fault
    raise AssertionError("nothing was found")


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("instead", ["barrier(block)", "pass"])
def test_each_barrier_of_the_grid_is_for_a_dependence_between_blocks(name, instead):
    barriers = lines_like(name, r"barrier\(team\)")
    assert barriers
    for number, _ in barriers:
        fault = found(name, planted(name, number, instead))
        assert isinstance(fault, Race), number
        assert instead == "pass" or str(fault.because).startswith("worker "), number


@pytest.mark.parametrize("name", HIDDEN)
def test_each_barrier_of_a_block_is_for_a_dependence_between_its_threads(name):
    for number, _ in lines_like(name, r"barrier\(block\)"):
        fault = found(name, planted(name, number, "pass"))
        assert isinstance(fault, Race), number
        assert str(fault.because).startswith("thread "), number


@pytest.mark.parametrize("name", HIDDEN)
def test_a_share_that_reaches_into_another_blocks_is_found(name):
    shares = lines_like(name, r"\w+ = first(_\d+)? \+ \w+")
    assert shares or name in ("tree_fc", "mv_rnn")
    for number, line in shares:
        found(name, planted(name, number, line.replace("= first", "= 0 * first")))


@pytest.mark.parametrize("name", HIDDEN)
def test_a_barrier_that_one_thread_misses_is_found(name):
    number = lines_like(name, r"barrier\(team\)")[0][0]
    missed = planted(name, number, "if t > 0: barrier(team)")
    with pytest.raises(InternalError, match="not every worker comes to this barrier"):
        verify(missed)
    assert isinstance(found(name, missed), BarrierDivergence | Race)
