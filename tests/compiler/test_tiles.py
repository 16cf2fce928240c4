"""The library's models at sizes that fill vectors, and at others: every product is tiled, every result right."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from itertools import product
from typing import Any

import pytest

import cortex
from cortex import models, ra
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.ir.expr import Const, Load, Role
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import LoopKind, Reduce
from ragged.ir.walk import subexpressions
from ragged.passes.pipeline import run_passes
from tests.support.agreement import check_agreement

MODELS: dict[str, Callable[[int], ra.Model]] = {
    "tree_fc": lambda hidden: models.tree_fc(hidden, 7),
    "tree_lstm": lambda hidden: models.tree_lstm(hidden, hidden, 7),
    "mv_rnn": lambda hidden: models.mv_rnn(hidden, 7),
}
SIZES = (16, 48, 60, 100, 256)
QUICK = {"tree_fc": 60, "mv_rnn": 60, "tree_lstm": 16}
"""The sizes that `make test` schedules: 60 leaves a rest of vectors and of tiles."""


def cases(threads: tuple[int, ...], quick: Collection[tuple[str, int, int]]) -> list[Any]:
    """Return models, sizes and numbers of threads; all but the quick ones are left to `make thorough`."""
    every = product(MODELS, SIZES, threads)
    return [pytest.param(*case, marks=() if case in quick else pytest.mark.thorough) for case in every]


TREES = [((1, 2), (3, ((4, 5), 6))), 3, (((0, 1), 2), (3, 4))]


def products(program: Program) -> list[Site]:
    """Return the sums of products with a parameter, or a table, over a number of elements."""
    kernel = (site for site in sites(program) if site.stage.kind is StageKind.KERNEL)
    return [site for site in kernel if isinstance(site.stmt, Reduce) and _is_product(site, site.stmt)]


def _is_product(site: Site, stmt: Reduce) -> bool:
    axes = [loop for loop in site.loops if loop.var in stmt.axes]
    known = all(isinstance(loop.extent, Const) for loop in axes)
    parts = subexpressions(stmt.value)
    return known and any(isinstance(e, Load) and e.buffer.role in (Role.PARAMETER, Role.BOUND) for e in parts)


@cache
def tiled(name: str, hidden: int, threads: int) -> Program:
    """Return what the default schedule makes of a model."""
    steps = run_passes(default_schedule(MODELS[name](hidden)).lower(), passes_for(threads=threads))
    return next(step.program for step in steps if step.name == "default_schedule")


@pytest.mark.parametrize(
    ("name", "hidden", "threads"), cases((2,), {(name, hidden, 2) for name, hidden in QUICK.items()})
)
def test_no_product_is_left_untiled(name, hidden, threads):
    found = products(tiled(name, hidden, threads))
    assert found
    assert [site.stmt.label.name for site in found if site.loops[-1].kind is not LoopKind.VECTORIZED] == []


@pytest.mark.parametrize(
    ("name", "hidden", "threads"), cases((1, 2), {("tree_fc", 60, 2), ("mv_rnn", 60, 2)})
)
def test_results(name, hidden, threads):
    model = MODELS[name](hidden)
    params = model.init_params(seed=hidden)
    output = cortex.compile(model, params, threads=threads)(TREES)
    names = list(output)
    rows = [{each: output.nodes(each)[s] for each in names} for s in range(len(TREES))]
    check_agreement(rows, ra.evaluate(model, params, TREES), f"{name}, {hidden}")


def test_what_tiles_leave_over_of_leaves_is_a_tile_of_their_number():
    """Leaves are few, or may be; inner nodes with words of their own are run over once in a call, and stay apart."""
    program = tiled("tree_lstm", 16, 2)
    names = {site.stmt.label.name for site in products(program) if isinstance(site.stmt, Reduce)}
    for name in ("Wx_o_leaf", "Uh_f", "Uh_o"):
        assert {f"{name}.t.is{rest}" for rest in (1, 2, 3)} <= names
    assert {"Wx_o", "Wx_o.t"} <= names and "Wx_o.t.is1" not in names
