"""Options of the schedules: what they change, what they leave, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cortex
from cortex import RecursionOptions, models, ra
from cortex.compiler.compile import recipe_of
from cortex.compiler.options import DEFAULT, scheduled
from cortex.ra.schedule import default_schedule
from ragged.auto import options as loops
from ragged.auto.default_schedule import DefaultSchedule
from ragged.compiled.key import key_of
from ragged.errors import DataError, ScheduleError, UserError
from ragged.machine import this_machine
from tests.support.agreement import check_agreement

MODEL = models.tree_fc(hidden=33, vocab=7)
TREES = [((1, 2), (3, ((4, 5), 6))), 3, (((0, 1), 2), (3, 4))]
OTHERS = [
    RecursionOptions(tile=(3, 2), reduction_unroll=4, slice_vectors=1, row_vectors=2),
    RecursionOptions(rows_per_tile=1, share_columns=False),
    RecursionOptions(tile=(6, 2), rows_per_tile=2, max_stack_bytes=1024),
    RecursionOptions(refactor=("Wl", "Wr"), reroll=False),
]


@pytest.fixture(scope="module")
def params():
    return MODEL.init_params(seed=3)


@pytest.fixture(scope="module")
def default(params) -> cortex.RecursiveFunction:
    return cortex.compile(MODEL, params, threads=1)


@pytest.mark.parametrize("options", OTHERS, ids=repr)
def test_choices_change_the_program_and_no_bit(options, params, default):
    fn = cortex.compile(MODEL, params, options=options, threads=1)
    assert fn.show("loops") != default.show("loops")
    mine, own = fn(TREES).nodes("h"), default(TREES).nodes("h")
    assert [rows.tobytes() for rows in mine] == [rows.tobytes() for rows in own]
    check_agreement([{"h": rows} for rows in mine], ra.evaluate(MODEL, params, TREES), repr(options))


@pytest.mark.timeout(120)
def test_columns_that_one_tile_covers_and_no_row_of_vectors():
    model = models.lstm(hidden=31, embed=5, vocab=7)
    given, steps = model.init_params(seed=3), [np.arange(6), np.arange(2)]
    one = cortex.compile(model, given, options=RecursionOptions(row_vectors=1), threads=1)
    own = cortex.compile(model, given, threads=1)
    np.testing.assert_array_equal(one(steps)["h"], own(steps)["h"])


def test_the_schedule_says_what_is_chosen_and_why_not_the_default(params, default):
    assert not [line for line in default.show("schedule").splitlines() if line.startswith("#")]
    small = models.tree_sum(hidden=2, vocab=7)
    fn = cortex.compile(
        small, small.init_params(), threads=1, options=RecursionOptions(reduction_unroll=2, unroll=1)
    )
    notes = [line for line in fn.show("schedule").splitlines() if line.startswith("#")]
    assert notes[:2] == [
        "# unroll=1 is set; 0 by default: a node below the top of a step loads the weights for itself, "
        "the largest term of its cost",
        "# reduction_unroll=2 is set; None by default: "
        "a long reduction branches less often; code of a short one stays small",
    ]


def test_choices_travel_with_a_saved_function(tmp_path):
    small = models.tree_fc(hidden=4, vocab=7)
    fn = cortex.compile(small, small.init_params(), threads=1, options=RecursionOptions(reduction_unroll=2))
    fn.save(tmp_path / "m.cortex")
    again = cortex.load(tmp_path / "m.cortex")
    assert [again.show(stage) for stage in ("schedule", "loops")] == [
        fn.show(stage) for stage in ("schedule", "loops")
    ]


def test_the_key_in_the_cache_knows_choices():
    program = default_schedule(MODEL).lower()
    made = [
        RecursionOptions().of_loops,
        RecursionOptions(reduction_unroll=2).of_loops,
        RecursionOptions(tile=(6, 4)).of_loops,
    ]
    keys = [key_of(recipe_of(program, "cpu", 2, options=each)) for each in made]
    assert len(set(keys)) == 3 and keys[0] == key_of(recipe_of(program, "cpu", 2))


def test_the_default_is_the_default_schedule():
    assert scheduled(MODEL, DEFAULT).log() == default_schedule(MODEL).log()
    assert DefaultSchedule(this_machine()).options == DEFAULT.of_loops


@pytest.mark.parametrize("options", [RecursionOptions(), *OTHERS], ids=repr)
def test_the_representation_makes_them_again(options):
    assert eval(repr(options)) == options


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tile": (0, 4)}, "options: tile=(0, 4) is not two numbers from 1 up\n  fix: (rows, vectors)"),
        ({"tile": [4, 4]}, "options: tile=[4, 4] is not two numbers from 1 up\n  fix: (rows, vectors)"),
        ({"reduction_unroll": True}, "options: reduction_unroll=True is not a number from 1 up"),
        ({"rows_per_tile": 0}, "options: rows_per_tile=0 is not a number from 1 up"),
        ({"reroll": 1}, "options: reroll=1 is neither True nor False"),
        ({"hoist_inputs": None}, "options: hoist_inputs=None is neither True nor False"),
        ({"unroll": -1}, "options: unroll=-1 is not a number from 0 up"),
        ({"refactor": "Uh"}, "options: refactor='Uh' is not a tuple of operators' names"),
    ],
    ids=str,
)
def test_what_is_no_choice(given, message):
    with pytest.raises(UserError) as error:
        RecursionOptions(**given)
    assert str(error.value) == message


def test_what_the_machine_has_no_room_for():
    machine = replace(this_machine(), vector_registers=16)
    with pytest.raises(ScheduleError) as error:
        loops.ScheduleOptions(tile=(6, 4)).check(machine)
    assert str(error.value) == (
        "options: tile=(6, 4) does not fit in registers\n"
        "  because: 6 rows of 4 vectors are 24 accumulators; the machine has 16 registers\n"
        "  fix: fewer rows, or fewer vectors"
    )
    with pytest.raises(ScheduleError, match="row_vectors=17 does not fit"):
        loops.ScheduleOptions(row_vectors=17).check(machine)
    with pytest.raises(ScheduleError, match="options: tile=\\(99, 4\\) does not fit in registers"):
        cortex.compile(MODEL, MODEL.init_params(), options=RecursionOptions(tile=(99, 4)))


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (
            MODEL,
            RecursionOptions(refactor=("W",)),
            "compile: refactor names 'W'\n  because: the model computes leaf, Wl, Wr, rec, h",
        ),
        (
            default_schedule(MODEL),
            RecursionOptions(unroll=1, reduction_unroll=2),
            "compile: unroll=1 is given beside a schedule\n  because: the schedule fixes how the recursion runs"
            "\n  fix: call the primitive on the schedule, or compile the model",
        ),
    ],
    ids=["refactor", "a schedule"],
)
def test_what_the_model_has_not(model, options, message):
    with pytest.raises(ScheduleError) as error:
        cortex.compile(model, {}, options=options)
    assert str(error.value) == message


def test_a_gpu_takes_no_choices(params):
    with pytest.raises(ScheduleError) as error:
        cortex.compile(MODEL, params, target="cuda -arch=sm_90", options=RecursionOptions(reduction_unroll=2))
    assert str(error.value) == (
        "options: a kernel for a GPU takes none\n"
        "  because: they are about a processor's registers, caches and cores\n"
        "  fix: target='cpu'; a GPU's blocks and threads are said in the target"
    )


def test_inputs_need_not_be_hoisted():
    model = models.tree_rnn(hidden=4, embed=4, vocab=7)
    assert "hoist_inputs" in scheduled(model, DEFAULT).log()
    assert "hoist_inputs" not in scheduled(model, RecursionOptions(hoist_inputs=False)).log()
    assert np.all(
        [
            choice.of_loops == loops.ScheduleOptions()
            for choice in (DEFAULT, RecursionOptions(hoist_inputs=False))
        ]
    )


def test_a_vocabulary_that_is_not_read_or_too_large():
    vectors, words = models.dag_rnn(hidden=2, embed=3), cortex.Vocab(["a", "b"])
    with pytest.raises(UserError) as unread:
        cortex.compile(vectors, vectors.init_params(), vocab=words)
    assert str(unread.value) == (
        "compile: vocab= is given, and the model reads no word\n"
        "  because: a vocabulary numbers the payload `word`, and the model reads `x`\n"
        '  fix: leave vocab= out, or make the model with input="word"'
    )
    small = models.tree_sum(hidden=2, vocab=2)
    with pytest.raises(UserError) as large:
        cortex.compile(small, small.init_params(), vocab=words)
    assert str(large.value) == (
        "compile: the vocabulary has 3 words, and the model a table of 2 rows\n"
        "  because: a word's number is its row\n"
        "  example: the word '<unk>' has the number 2\n"
        "  fix: make the model with vocab=len(vocab)"
    )


@pytest.mark.parametrize(
    "options", [{"reduction_unroll": 2}, loops.DEFAULT], ids=["a dict", "of loops alone"]
)
def test_options_of_another_type(options):
    with pytest.raises(UserError) as refused:
        cortex.compile(MODEL, MODEL.init_params(), options=options)
    assert str(refused.value).splitlines() == [
        f"compile: options={options!r} are no RecursionOptions",
        "  fix: options=cortex.RecursionOptions(reduction_unroll=2)",
    ]


@pytest.mark.parametrize("payloads", [{"label": 3}, ["label"], {"label": ""}, {"other": "label"}], ids=repr)
def test_payloads_that_say_nothing(payloads, params):
    with pytest.raises(DataError, match="does not say where nodes have a payload"):
        cortex.compile(MODEL, params, payloads=payloads)


@pytest.mark.parametrize("model", ["tree_rnn", models.tree_rnn], ids=["a name", "a function"])
def test_what_builds_a_model_is_no_model(model, params):
    with pytest.raises(UserError, match="is no model\n  fix: call what builds one"):
        cortex.compile(model, params)


@pytest.mark.parametrize("repeats", [0, "3"])
def test_a_profile_of_no_runs(default, repeats):
    with pytest.raises(UserError, match=f"profile: repeats={repeats!r} is no number of times"):
        default.profile(TREES, repeats=repeats)
