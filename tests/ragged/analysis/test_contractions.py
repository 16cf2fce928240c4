"""Contractions that are found on the way to one loop or one label are those of a walk through the whole program."""

import pytest

from cortex import models
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.analysis.contractions import contraction_of, contractions, contractions_in
from ragged.analysis.site_of import site_of
from ragged.ir.expr import Var
from ragged.ir.index import index_of
from ragged.ir.program import StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import For, Label
from ragged.ir.walk import leaves
from ragged.passes.pipeline import run_passes


@pytest.fixture(scope="module")
def programs():
    model = default_schedule(models.tree_rnn(8, 8, 7)).lower()
    return [step.program for step in run_passes(model, passes_for(threads=2))]


def test_a_contraction_is_found_by_its_update(programs):
    for program in programs:
        for stage in program.stages:
            found = {each.update: each for each in contractions(program, stage.kind)}
            for label in index_of(program).labels:
                assert contraction_of(program, label, stage.kind) == found.get(label)
    assert contraction_of(programs[0], Label("absent")) is None


def test_contractions_in_a_loop_are_those_with_an_update_in_it(programs):
    seen = 0
    for program in programs:
        every = [each for stage in StageKind for each in contractions(program, stage)]
        for loop in (site.stmt for site in sites(program) if isinstance(site.stmt, For)):
            inside = {leaf.label for leaf in leaves(loop)}
            assert list(contractions_in(program, loop.var)) == [
                each for each in every if each.update in inside
            ]
            seen += len(inside & {each.update for each in every})
    assert seen >= 40


def test_a_loop_stands_where_a_walk_meets_it_first(programs):
    for program in programs:
        first: dict[Var, object] = {}
        for site in sites(program):
            if isinstance(site.stmt, For):
                first.setdefault(site.stmt.var, site)
        assert {var: site_of(program, var) for var in index_of(program).loops} == first
    assert site_of(programs[0], Var("absent")) is None
