"""Choices of the schedule: what they change, what they leave, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cortex
from cortex import Choices, models, ra
from cortex.compiler.choices import DEFAULT, scheduled
from cortex.compiler.compile import recipe_of
from cortex.ra.schedule import default_schedule
from ragged.auto import choices as loops
from ragged.auto.default_schedule import DefaultSchedule
from ragged.compiled.key import key_of
from ragged.errors import ScheduleError, UserError
from ragged.machine import this_machine
from tests.support.agreement import check_agreement

MODEL = models.tree_fc(hidden=33, vocab=7)
TREES = [((1, 2), (3, ((4, 5), 6))), 3, (((0, 1), 2), (3, 4))]
OTHERS = [
    Choices(tile=(3, 2), steps=4, slice_vectors=1, row_vectors=2),
    Choices(nodes=1, columns=False),
    Choices(tile=(6, 4), nodes=2, temporaries=1024),
    Choices(refactor=("Wl", "Wr"), roll=False),
]


@pytest.fixture(scope="module")
def params():
    return MODEL.init_params(seed=3)


@pytest.fixture(scope="module")
def default(params) -> cortex.RecursiveFunction:
    return cortex.compile(MODEL, params, threads=1)


@pytest.mark.parametrize("choices", OTHERS, ids=repr)
def test_choices_change_the_program_and_no_bit(choices, params, default):
    fn = cortex.compile(MODEL, params, choices=choices, threads=1)
    assert fn.show("loops") != default.show("loops")
    mine, own = fn(TREES).nodes("h"), default(TREES).nodes("h")
    assert [rows.tobytes() for rows in mine] == [rows.tobytes() for rows in own]
    check_agreement([{"h": rows} for rows in mine], ra.evaluate(MODEL, params, TREES), repr(choices))


def test_the_schedule_says_what_is_chosen_and_why_not_the_default(params, default):
    assert not [line for line in default.show("schedule").splitlines() if line.startswith("#")]
    small = models.tree_sum(hidden=2, vocab=7)
    fn = cortex.compile(small, small.init_params(), threads=1, choices=Choices(steps=2, unroll=1))
    notes = [line for line in fn.show("schedule").splitlines() if line.startswith("#")]
    assert notes[:2] == [
        "# unroll=1 is chosen; 0 by default: nodes of one height share what they load of the weights",
        "# steps=2 is chosen; None by default: a long sum's loop turns less often; code for a short one stays small",
    ]


def test_choices_travel_with_a_saved_function(tmp_path):
    small = models.tree_fc(hidden=4, vocab=7)
    fn = cortex.compile(small, small.init_params(), threads=1, choices=Choices(steps=2))
    fn.save(tmp_path / "m.cortex")
    again = cortex.load(tmp_path / "m.cortex")
    assert [again.show(stage) for stage in ("schedule", "loops")] == [
        fn.show(stage) for stage in ("schedule", "loops")
    ]


def test_the_key_in_the_cache_knows_choices():
    program = default_schedule(MODEL).lower()
    made = [Choices().of_loops, Choices(steps=2).of_loops, Choices(tile=(6, 4)).of_loops]
    keys = [key_of(recipe_of(program, "cpu", 2, choices=each)) for each in made]
    assert len(set(keys)) == 3 and keys[0] == key_of(recipe_of(program, "cpu", 2))


def test_the_default_is_the_default_schedule():
    assert scheduled(MODEL, DEFAULT).log() == default_schedule(MODEL).log()
    assert DefaultSchedule(this_machine()).choices == DEFAULT.of_loops


@pytest.mark.parametrize("choices", [Choices(), *OTHERS], ids=repr)
def test_the_representation_makes_them_again(choices):
    assert eval(repr(choices)) == choices


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tile": (0, 4)}, "choices: tile=(0, 4) is not two numbers from 1 up\n  fix: (rows, vectors)"),
        ({"tile": [4, 4]}, "choices: tile=[4, 4] is not two numbers from 1 up\n  fix: (rows, vectors)"),
        ({"steps": True}, "choices: steps=True is not a number from 1 up"),
        ({"nodes": 0}, "choices: nodes=0 is not a number from 1 up"),
        ({"roll": 1}, "choices: roll=1 is neither True nor False"),
        ({"hoist_inputs": None}, "choices: hoist_inputs=None is neither True nor False"),
        ({"unroll": -1}, "choices: unroll=-1 is not a number from 0 up"),
        ({"refactor": "Uh"}, "choices: refactor='Uh' is not a tuple of operators' names"),
    ],
    ids=str,
)
def test_what_is_no_choice(given, message):
    with pytest.raises(UserError) as error:
        Choices(**given)
    assert str(error.value) == message


def test_what_the_machine_has_no_room_for():
    machine = replace(this_machine(), vector_registers=16)
    with pytest.raises(ScheduleError) as error:
        loops.Choices(tile=(6, 4)).check(machine)
    assert str(error.value) == (
        "choices: tile=(6, 4) does not fit in registers\n"
        "  because: 6 rows of 4 vectors are 24 sums, and the machine has 16 registers\n"
        "  fix: fewer rows, or fewer vectors"
    )
    with pytest.raises(ScheduleError, match="row_vectors=17 does not fit"):
        loops.Choices(row_vectors=17).check(machine)
    with pytest.raises(ScheduleError, match="choices: tile=\\(99, 4\\) does not fit in registers"):
        cortex.compile(MODEL, {}, choices=Choices(tile=(99, 4)))


@pytest.mark.parametrize(
    ("model", "choices", "message"),
    [
        (
            MODEL,
            Choices(refactor=("W",)),
            "compile: refactor names 'W'\n  because: the model computes leaf, Wl, Wr, rec, h",
        ),
        (
            default_schedule(MODEL),
            Choices(unroll=1, steps=2),
            "compile: unroll=1 is chosen beside a schedule\n  because: the schedule says already how the recursion runs"
            "\n  fix: make the choice on the schedule, or give the model",
        ),
    ],
    ids=["refactor", "a schedule"],
)
def test_what_the_model_has_not(model, choices, message):
    with pytest.raises(ScheduleError) as error:
        cortex.compile(model, {}, choices=choices)
    assert str(error.value) == message


def test_a_gpu_takes_no_choices(params):
    with pytest.raises(ScheduleError) as error:
        cortex.compile(MODEL, params, target="cuda -arch=sm_90", choices=Choices(steps=2))
    assert str(error.value) == (
        "choices: a kernel for a GPU takes none\n"
        "  because: they are about a processor's registers, caches and cores\n"
        "  fix: target='cpu'; a GPU's blocks and threads are said in the target"
    )


def test_inputs_need_not_be_hoisted():
    model = models.tree_rnn(hidden=4, embed=4, vocab=7)
    assert "hoist_inputs" in scheduled(model, DEFAULT).log()
    assert "hoist_inputs" not in scheduled(model, Choices(hoist_inputs=False)).log()
    assert np.all([choice.of_loops == loops.Choices() for choice in (DEFAULT, Choices(hoist_inputs=False))])
