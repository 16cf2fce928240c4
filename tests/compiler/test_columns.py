"""Columns shared out over a team, in small cells: the loops as they are arranged, and what they compute."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import cortex
from cortex import Node, RecursionOptions, models, ra
from cortex.linearize import linearize
from cortex.ra.schedule import default_schedule
from ragged.auto.columns import share_columns
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from tests.support.agreement import check_agreement, interpreted
from tests.support.cells import child_sum

TWO_CORES = Machine(vector_bytes=16, vector_registers=16, cores=2, l1_bytes=32 * 1024, l2_bytes=256 * 1024)
N = ra.N


def two_matrices(hidden: int) -> ra.Model:
    """Return a cell of two gates that read one sum over children, and a product of what they gate."""
    H = hidden
    U_z, U_r, U_h = (ra.input_tensor(name, (H, H)) for name in ("U_z", "U_r", "U_h"))
    x = ra.node_input("x", (H,))
    h_ph = ra.placeholder((N, H))
    hs = ra.compute((N, H), lambda n, i: ra.sum_children(n, lambda k: h_ph[k, i]), name="hs")
    z = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: U_z[i, j] * hs[n, j]), name="z")
    r = ra.compute((N, H), lambda n, i: ra.sum(H, lambda j: U_r[i, j] * hs[n, j]), name="r")
    gated = ra.compute((N, H), lambda n, i: ra.sigmoid(r[n, i]) * hs[n, i], name="gated")
    u = ra.compute((N, H), lambda n, i: ra.tanh(ra.sum(H, lambda j: U_h[i, j] * gated[n, j])), name="u")
    h = ra.compute((N, H), lambda n, i: ra.sigmoid(z[n, i]) * u[n, i] + x[n, i], name="h")
    return ra.recursion_op(h_ph, h, structure=ra.Tree())


MODELS = {"child_sum": child_sum, "two_matrices": two_matrices}


def arranged(model: ra.Model) -> LoopSchedule:
    schedule = LoopSchedule(default_schedule(model).lower())
    columns = share_columns(schedule, TWO_CORES)
    assert columns.replicated == ()
    assert columns.sliced == ("s.apply(slice_columns, " in schedule.log())
    verify(schedule.program)
    return schedule


def batch(hidden: int) -> list[Node]:
    random = np.random.default_rng(hidden)

    def node(*children: Node) -> Node:
        return Node(children, x=random.standard_normal(hidden).astype(np.float32))

    return [node(node(node(), node(), node()), node()), node(), node(node(node()), node())]


@pytest.mark.parametrize("name", MODELS)
def test_text(name, golden):
    schedule = arranged(MODELS[name](8))
    kernel = to_text(schedule.program).partition("with kernel:\n")[2]
    golden(f"columns_{name}.txt", f"{kernel}\n{schedule.log()}\n")


@pytest.mark.parametrize("hidden", [1, 2, 8, 12, 20])
@pytest.mark.parametrize("name", MODELS)
def test_results(name, hidden):
    model = MODELS[name](hidden)
    params, data = model.init_params(seed=hidden), batch(hidden)
    program = arranged(model).program
    for structures in (data, data[1:2], []):
        expected = ra.evaluate(model, params, structures)
        linearized = linearize(model.plan(), structures)
        for seed in range(2):
            check_agreement(interpreted(program, linearized, params, seed=seed), expected, name)


def test_slices_are_shared_out_evenly():
    """With 12 columns of 4 lanes on two cores, two slices of 6: one vector and a half each, and not two to one."""
    text = to_text(arranged(two_matrices(12)).program)
    assert "n_s in parallel(2)" in text and "serial(6)" in text


@pytest.mark.parametrize("name", MODELS)
def test_a_team_waits_once_a_batch_where_each_adds_up_rows_himself(name):
    """The products of `two_matrices` are two in a row, the second of what the first one gates."""
    schedule = LoopSchedule(default_schedule(MODELS[name](8)).lower())
    columns = share_columns(schedule, TWO_CORES, team=True)
    assert columns.sliced and len(columns.replicated) == 1
    both = [0, 0]
    for place, own in enumerate(((), columns.replicated)):
        text = str(distribute_over_team(schedule.program, replicated=own).program)
        both[place] = text.partition("for step in")[2].count("barrier(team)")
    assert both == {"child_sum": [2, 1], "two_matrices": [3, 2]}[name]


@pytest.mark.parametrize("hidden", [1, 8, 12])
@pytest.mark.parametrize("wide", [None, 1])
@pytest.mark.parametrize("name", MODELS)
def test_results_of_a_team(name, wide, hidden):
    model = MODELS[name](hidden)
    params, data = model.init_params(seed=hidden), batch(hidden)
    schedule = LoopSchedule(default_schedule(model).lower())
    columns = share_columns(schedule, TWO_CORES, team=True)
    assert columns.sliced == bool(columns.replicated)  # nodes are distributed: no barrier for columns
    schedule.apply(distribute_over_team, min_rows_per_worker=wide, replicated=columns.replicated)
    program = schedule.checked()
    for structures in (data, data[1:2], []):
        expected = ra.evaluate(model, params, structures)
        linearized = linearize(model.plan(), structures)
        for workers in (1, 2, 3):
            got = interpreted(program, linearized, params, seed=workers, workers=workers)
            check_agreement(got, expected, name)


def slices_of(machine: Machine, hidden: int) -> set[str]:
    schedule = LoopSchedule(default_schedule(two_matrices(hidden)).lower())
    share_columns(schedule, machine)
    return {
        line.rpartition(", ")[2].rstrip(")")
        for line in schedule.log().splitlines()
        if "slice_columns" in line
    }


def test_slices_of_the_matrices_stay_in_the_second_cache():
    """At 64, three matrices are 48 KiB: 16 columns of them are 12 KiB, and 8 are 6."""
    assert slices_of(TWO_CORES, 64) == {"16"}
    small = dataclasses.replace(TWO_CORES, l2_bytes=10 * 1024)
    assert slices_of(small, 64) == {"8"}


def test_a_slice_that_would_be_one_vector_only_to_stay_is_as_wide_as_a_tile():
    """All rows are read for each slice, and a tile of one vector is slow; the matrices come from afar either way."""
    assert slices_of(dataclasses.replace(TWO_CORES, l2_bytes=9 * 1024), 64) == {"8"}
    assert slices_of(dataclasses.replace(TWO_CORES, l2_bytes=8 * 1024), 64) == {"16"}


@pytest.mark.parametrize(
    ("matrices", "rows", "chosen", "wide"),
    [
        (2**20, 2**10, None, 12),
        (2**16, 2**14, None, 4),
        (2**10, 2**14, None, 1),
        (2**10, 0, None, 12),
        (1, 1, 7, 7),
    ],
)
def test_a_batch_is_wide_where_its_rows_are_many_or_as_large_as_the_matrices(matrices, rows, chosen, wide):
    assert RecursionOptions(min_rows_per_worker=chosen).rows_per_worker(matrices, rows) == wide


def test_nodes_with_matrices_of_their_own_are_shared_out_two_by_two():
    model = models.mv_rnn(32, 10)
    function = cortex.compile(model, model.init_params(seed=0), threads=2)
    assert "s.apply(distribute_over_team, min_rows_per_worker=1)" in function.show("schedule")


@pytest.mark.parametrize("hidden", [15, 16, 17, 40])
def test_a_choice_of_a_sum_that_is_the_same_in_all_columns(hidden):
    w, h_ph = ra.node_input("w"), ra.placeholder((ra.N, hidden))
    first = lambda n: ra.sum_children(n, lambda k: h_ph[k, 0])  # noqa: E731
    h = ra.compute((ra.N, hidden), lambda n, i: ra.where(w[n] > 0.0, first(n) + 1.0, 0.5))
    tree = cortex.Node([cortex.Node(w=-1.0), cortex.Node([cortex.Node(w=2.0)], w=3.0)], w=1.0)
    model = ra.recursion_op(h_ph, h)
    found = cortex.compile(model, {})(tree).nodes("h")[0]
    np.testing.assert_array_equal(found, ra.evaluate(model, {}, tree)["h"])


@pytest.mark.parametrize(
    ("target", "hidden"), [("llvm -mcpu=haswell", 104), ("llvm -mcpu=skylake-avx512", 224)]
)
def test_slices_that_tiles_do_not_divide_begin_where_blocks_do(target, hidden):
    model = models.tree_rnn(hidden=hidden, embed=16, vocab=9)
    loops = cortex.compile(model, model.init_params(seed=0), target=target, threads=1).show("loops")
    packed = re.findall(r"U_packed\[.*?\], ", loops.partition("with kernel")[2])
    assert "_s * " in loops and packed
    assert not [each for each in packed if "//" in each or "%" in each]
