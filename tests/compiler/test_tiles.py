"""The library's models at sizes that fill vectors, and at others: every product is tiled, every result right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import cortex
from cortex import models, ra
from cortex.compiler.pipeline import lowering_steps
from cortex.ra.schedule import default_schedule
from ragged.ir.expr import Const, Load, Role
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import LoopKind, Reduce
from ragged.ir.walk import subexpressions
from tests.support.agreement import check_agreement

MODELS: dict[str, Callable[[int], ra.Model]] = {
    "tree_fc": lambda hidden: models.tree_fc(hidden, 7),
    "tree_lstm": lambda hidden: models.tree_lstm(hidden, hidden, 7),
    "mv_rnn": lambda hidden: models.mv_rnn(hidden, 7),
}
TRIED = ((16, 1), (60, 1), (60, 2))
"""Sizes with numbers of threads: vectors filled, and vectors and tiles with a rest."""
RESULTS = [
    pytest.param(hidden, threads, marks=() if (hidden, threads) in TRIED else pytest.mark.thorough)
    for hidden in (16, 48, 60, 100, 256)
    for threads in (1, 2)
]
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


@pytest.mark.parametrize(
    "hidden",
    [
        16,
        pytest.param(48, marks=pytest.mark.thorough),
        60,
        pytest.param(100, marks=pytest.mark.thorough),
        256,
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_no_product_is_left_untiled(name, hidden):
    steps = lowering_steps(default_schedule(MODELS[name](hidden)).lower(), threads=2)
    found = products(next(step.program for step in steps if step.name == "default_schedule"))
    assert found
    assert [site.stmt.label.name for site in found if site.loops[-1].kind is not LoopKind.VECTORIZED] == []


@pytest.mark.parametrize(("hidden", "threads"), RESULTS)
@pytest.mark.parametrize("name", MODELS)
def test_results(name, hidden, threads):
    model = MODELS[name](hidden)
    params = model.init_params(seed=hidden)
    output = cortex.compile(model, params, threads=threads)(TREES)
    names = list(output)
    rows = [{each: output.nodes(each)[s] for each in names} for s in range(len(TREES))]
    check_agreement(rows, ra.evaluate(model, params, TREES), f"{name}, {hidden}")


def test_what_tiles_leave_over_of_leaves_is_a_tile_of_their_number():
    """Leaves are few, or may be; inner nodes with words of their own are run over once in a call, and stay apart."""
    steps = lowering_steps(default_schedule(MODELS["tree_lstm"](16)).lower(), threads=2)
    program = next(step.program for step in steps if step.name == "default_schedule")
    names = {site.stmt.label.name for site in products(program) if isinstance(site.stmt, Reduce)}
    for product in ("Wx_o_leaf", "Uh_f", "Uh_o"):
        assert {f"{product}.t.is{rest}" for rest in (1, 2, 3)} <= names
    assert {"Wx_o", "Wx_o.t"} <= names and "Wx_o.t.is1" not in names
