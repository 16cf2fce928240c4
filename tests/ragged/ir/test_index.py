"""What is where in a program, of parts that are remembered from the programs before it, is what a walk finds."""

from __future__ import annotations

from cortex import models
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.analysis.site_of import site_of
from ragged.ir.index import index_of
from ragged.ir.parser import parse
from ragged.ir.program import Program
from ragged.ir.sites import sites
from ragged.ir.stmt import For
from ragged.ir.walk import leaves
from ragged.passes.pipeline import run_passes
from ragged.transform.loops.split import Tail, split
from ragged.transform.loops.unroll import unroll

TWO = """\
program("two")

n: input()
x: output(float32[n + 8])

with kernel:
    for i in serial(n):
        x[i]: first = 0.0
    if n < 3:
        for j in serial(8):
            x[j]: second = 1.0
    else:
        for k in serial(7):
            x[k]: third = 2.0
"""


def check_index(program: Program) -> None:
    found = index_of(program)
    bodies = [stage.body for stage in program.stages]
    assert found.labels == tuple(leaf.label for body in bodies for leaf in leaves(body))
    loops = [site for site in sites(program) if isinstance(site.stmt, For)]
    assert found.loops == tuple(site.stmt.var for site in loops if isinstance(site.stmt, For))
    for site in loops:
        assert isinstance(site.stmt, For)
        there = site_of(program, site.stmt.var)
        assert there is not None and there.stmt is site.stmt and there.stage is site.stage
        assert there.around == site.around


def test_every_step_of_a_model_is_indexed_as_it_is():
    for step in run_passes(default_schedule(models.tree_lstm(8, 8, 7)).lower(), passes_for(threads=2)):
        check_index(step.program)


def test_steps_that_copy_and_move_statements():
    program = parse(TWO)
    check_index(program)
    (i, j, k) = index_of(program).loops
    for rewritten in (split(program, i, 4, Tail.PEEL), split(program, k, 2, Tail.GUARD), unroll(program, j)):
        check_index(rewritten.program)
        first, *_ = index_of(rewritten.program).loops
        check_index(split(rewritten.program, first, 3, Tail.GUARD).program)
    assert site_of(split(program, j, 3).program, j) is None
