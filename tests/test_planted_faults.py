"""Faults planted by hand in arrays and programs, each of which has to be caught, and by what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cortex
from cortex import ra
from cortex.compiler.interpret import rows_by_structure
from cortex.ilir.insert_order_checks import insert_order_checks
from cortex.linearize import linearize
from ragged.errors import DataError
from ragged.ir.interpret import Race, Undefined
from ragged.ir.parser import parse
from ragged.ir.pointer_facts import Follows
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.passes.discharge_checks import discharge_checks
from tests.support.agreement import check_agreement, interpreted

N, H, V = ra.N, 3, 7
STRUCTURES = [(((1, 2), 3), (4, 5)), ((0, 6), (1, (2, 3))), 4, (5, 6)]


def running_example() -> tuple[ra.Model, ra.Schedule]:
    """Return the paper's Listing 1, its children told apart, batched and specialized."""
    emb, word = ra.input_tensor("emb", (V, H)), ra.node_input("word", dtype="int32")
    h_ph = ra.placeholder((N, H))
    leaf = ra.compute((N, H), lambda n, i: emb[word[n], i])
    lh = ra.compute((N, H), lambda n, i: h_ph[n.left, i], name="lh")
    rh = ra.compute((N, H), lambda n, i: h_ph[n.right, i], name="rh")
    rec = ra.compute((N, H), lambda n, i: ra.tanh(lh[n, i] + 2.0 * rh[n, i]))
    body = ra.if_then_else((N, H), lambda n, i: (ra.isleaf(n), leaf, rec))
    model = ra.recursion_op(h_ph, body, structure=ra.Tree(max_children=2))
    schedule = ra.Schedule(model)
    schedule.dynamic_batch()
    schedule.specialize_if_else(body)
    return model, schedule


MODEL, SCHEDULE = running_example()
PARAMS = MODEL.init_params()
LINEARIZED = linearize(MODEL.plan(), STRUCTURES)
EXPECTED = ra.evaluate(MODEL, PARAMS, STRUCTURES)


@pytest.fixture(scope="module")
def function() -> cortex.RecursiveFunction:
    return cortex.compile(SCHEDULE, PARAMS)


def compiled(function, linearized):
    output = function(linearized)
    return [{"h": rows} for rows in output.nodes("h")]


def planted(old: str, new: str, program=None):
    """Return the running example's program with one line of its text exchanged."""
    text = to_text(SCHEDULE.lower() if program is None else program)
    assert text.count(old) == 1, text
    program = parse(text.replace(old, new))
    verify(program)
    return program


def test_nothing_planted(function):
    check_agreement(compiled(function, LINEARIZED), EXPECTED, "machine code")
    check_agreement(interpreted(SCHEDULE.lower(), LINEARIZED, PARAMS), EXPECTED, "interpreter")


# --- arrays ------------------------------------------------------------------------------------------------


def test_children_swapped_in_the_arrays(function):
    swapped = LINEARIZED.replace(left=LINEARIZED.right, right=LINEARIZED.left)
    with pytest.raises(AssertionError, match="machine code: structure 0, h: error"):
        check_agreement(compiled(function, swapped), EXPECTED, "machine code")
    with pytest.raises(AssertionError, match="interpreter: structure 0, h: error"):
        check_agreement(interpreted(SCHEDULE.lower(), swapped, PARAMS), EXPECTED, "interpreter")


def test_rows_of_two_nodes_swapped():
    rows = LINEARIZED.rows.copy()
    rows[[0, 1]] = rows[[1, 0]]
    results = interpreted(SCHEDULE.lower(), LINEARIZED, PARAMS)
    by_id = np.empty((LINEARIZED.num_nodes, H))
    by_id[LINEARIZED.rows] = np.concatenate([rows_["h"] for rows_ in results])
    with pytest.raises(AssertionError, match="structure 0"):
        check_agreement(rows_by_structure({"h": by_id}, LINEARIZED.replace(rows=rows)), EXPECTED, "rows")


def test_every_batch_one_number_too_high(function):
    shifted = LINEARIZED.replace(batch_begin=LINEARIZED.batch_begin + np.int32(1))
    with pytest.raises(DataError, match=r"batch_begin\(0\).* is not"):
        function(shifted)


@pytest.mark.parametrize("by", [1, -1])
def test_every_level_one_batch_off(function, by):
    rolled = LINEARIZED.replace(
        batch_begin=np.roll(LINEARIZED.batch_begin, by),
        batch_length=np.roll(LINEARIZED.batch_length, by),
    )
    with pytest.raises(DataError, match="batch_begin"):
        function(rolled)


def one_node_too_early():
    """Return arrays in which a node is in the batch of its child: they still tile the numbers."""
    begin, length = LINEARIZED.batch_begin.copy(), LINEARIZED.batch_length.copy()
    begin[1] -= 1
    length[1] += 1
    length[2] -= 1
    return LINEARIZED.replace(batch_begin=begin, batch_length=length)


def test_a_node_in_the_batch_of_its_child_is_refused_on_the_way_in(function):
    with pytest.raises(DataError, match=r"is below batch_begin\("):
        function(one_node_too_early())


def test_a_node_in_the_batch_of_its_child_is_a_race_where_nothing_checks():
    with pytest.raises(Race, match="race on h"):
        interpreted(SCHEDULE.lower(), one_node_too_early(), PARAMS)


# --- programs ----------------------------------------------------------------------------------------------

BACKWARD = ("b = step + 1", "b = num_batches - 1 - step")


def test_levels_from_the_root_down_read_what_nothing_wrote():
    with pytest.raises(Undefined, match=r"h\[.*\] is read and was never written"):
        interpreted(planted(*BACKWARD), LINEARIZED, PARAMS)


def test_nodes_from_the_root_down_read_what_nothing_wrote():
    program = planted("node = num_inner - 1 - step", "node = step", one_by_one())
    with pytest.raises(Undefined, match=r"h\[.*\] is read and was never written"):
        interpreted(program, LINEARIZED, PARAMS)


def test_levels_all_at_once_race():
    program = planted(
        "for step in serial(num_batches - 1, batch)", "for step in parallel(num_batches - 1, batch)"
    )
    with pytest.raises(Race, match="race on h"):
        interpreted(program, LINEARIZED, PARAMS)


def test_order_is_not_taken_for_granted_without_its_fact():
    program = insert_order_checks(SCHEDULE.lower()).program
    assert not [note for note in discharge_checks(program).notes if note.startswith("kept")]
    facts = tuple(fact for fact in program.facts if not isinstance(fact, Follows))
    notes = discharge_checks(replace(program, facts=facts)).notes
    assert len([note for note in notes if note.startswith("kept")]) == 2, notes


def one_by_one():
    """Return the running example's program that runs node after node."""
    schedule = ra.Schedule(MODEL)
    schedule.specialize_if_else(MODEL.outputs["h"][1])
    return schedule.lower()


# --- a team ------------------------------------------------------------------------------------------------

TEAM = """\
program("team")

num_nodes: input()
num_inner: input() = facts(0 <= num_inner < num_nodes + 1)
num_batches: input() = facts(1 <= num_batches < num_nodes + 2)
batch_begin: input(b < num_batches) = facts(tiling(batch_length, num_inner, num_nodes))
batch_length: input(b < num_batches)
left: input(n < num_inner) = facts(n + 1 <= left(n) < num_nodes, follows(batch_begin, batch_length))
right: input(n < num_inner) = facts(n + 1 <= right(n) < num_nodes, follows(batch_begin, batch_length))
word: payload(n < num_nodes) = facts(-1 <= word(n) < 7)
workers: call()
emb: parameter(float32[7, 3])
h: output(float32[num_nodes, 3])

with kernel:
    for w in team(workers):
        for s in serial((batch_length(0) + workers - 1 - w) // workers):
            leaf = batch_begin(0) + w + s * workers
            for i in serial(3):
                h[leaf, i] = emb[word(leaf), i]
        for step in serial(num_batches - 1):
            b = step + 1
            barrier(team)
            for s in serial((batch_length(b) + workers - 1 - w) // workers):
                node = batch_begin(b) + w + s * workers
                for i in serial(3):
                    h[node, i] = tanh(h[left(node), i] + 2.0 * h[right(node), i])
"""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_a_team_with_its_barrier(workers, seed):
    program = parse(TEAM)
    verify(program)
    results = interpreted(program, LINEARIZED, PARAMS, workers=workers, seed=seed)
    check_agreement(results, EXPECTED, f"{workers} workers")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_a_team_without_its_barrier_races(workers, seed):
    program = parse(TEAM.replace("            barrier(team)\n", ""))
    with pytest.raises(Race, match="race on h"):
        interpreted(program, LINEARIZED, PARAMS, workers=workers, seed=seed)


def test_a_team_whose_barrier_comes_too_late_races():
    late = TEAM.replace("            barrier(team)\n", "").rstrip() + "\n            barrier(team)\n"
    with pytest.raises(Race, match="race on h"):
        interpreted(parse(late), LINEARIZED, PARAMS, workers=3)
