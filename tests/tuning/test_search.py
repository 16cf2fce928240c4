"""The search over options: what it tries, compares and finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cortex
from cortex import RecursionOptions, models
from cortex.compiler.options import DEFAULT
from cortex.tuning import Tuning, search
from cortex.tuning.answers import disagreement
from ragged.errors import InternalError, UserError
from ragged.tuning.contest import Contest
from ragged.tuning.rounds import LEAST_ROUNDS, Times, take_turns

MODEL = models.tree_fc(hidden=4, vocab=7)
PARAMS = MODEL.init_params(seed=1)
TREES = [((1, 2), (3, ((4, 5), 6))), 3, (((0, 1), 2), (3, 4))]
GRID = {"reduction_unroll": [2], "tile": [(5, 4), (99, 99)], "slice_vectors": [8]}


@pytest.fixture
def pretended(monkeypatch):
    """Two steps in a turn take half the time, a tile of six rows takes a hundredth more."""

    compiled = search._ModelSubject.compile

    def pretend(subject, options):
        time = 100_000 / (1 + (options.reduction_unroll == 2)) * (1 + (options.tile == (5, 4)) / 100)
        return replace(compiled(subject, options), time=lambda: [time])

    monkeypatch.setattr(search._ModelSubject, "compile", pretend)


FOUND = """\
options                          kernel, us      10-90 %  of the default
reduction_unroll=2                     50.0    50.0-50.0           0.500  best
tile=(5, 4), reduction_unroll=2        50.5    50.5-50.5           0.505
default                               100.0  100.0-100.0           1.000
not timed: tile=(99, 99), reduction_unroll=2: options: tile=(99, 99) does not fit in registers
not timed: slice_vectors=8, reduction_unroll=2: the same kernel as RecursionOptions(reduction_unroll=2)
Faster than the default by 2.00: cortex.compile(..., options=cortex.RecursionOptions(reduction_unroll=2))"""


def test_parameters_are_searched_one_after_another(pretended):
    points = []
    found = cortex.tune(
        MODEL, PARAMS, TREES, grid=GRID, threads=1, seconds=0, advance=lambda: points.append(1)
    )
    assert found.best == RecursionOptions(reduction_unroll=2) and found.gain == 2
    assert str(found) == FOUND
    assert len(points) == 4


def test_a_full_grid_is_timed_at_once(pretended):
    found = cortex.tune(MODEL, PARAMS, TREES, grid={"reduction_unroll": [2]}, full=True, threads=1, seconds=0)
    assert [each.options for each in found.timed] == [RecursionOptions(reduction_unroll=2), DEFAULT]


def test_what_is_a_hundredth_faster_is_not_better():
    own, close, better = (Times(np.full(LEAST_ROUNDS, time)) for time in (100.0, 99.0, 97.0))
    contest = Contest(search._ModelSubject(MODEL, PARAMS, TREES, {}))
    two = RecursionOptions(reduction_unroll=2)
    assert contest._fastest({DEFAULT: own, two: close}, DEFAULT) == DEFAULT
    assert contest._fastest({DEFAULT: own, two: better}, DEFAULT) == two
    nothing = Tuning(DEFAULT, (), ())
    assert nothing.advice == "Nothing is clearly faster than the default."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": {"step": [2]}}, "tune: there is no option 'step'"),
        (
            {"grid": {"reduction_unroll": 2}},
            "tune: the values of reduction_unroll are 2\n  fix: a list of values to try",
        ),
        (
            {"grid": {"share_columns": [False], "reduction_unroll": [2, 0]}},
            "options: reduction_unroll=0 is not a number from 1 up",
        ),
        ({"keep": "roots"}, "tune: keep is not for its user to say\n  because: it compares all nodes"),
    ],
    ids=str,
)
def test_what_cannot_be_searched(arguments, message):
    with pytest.raises(UserError) as error:
        cortex.tune(MODEL, PARAMS, TREES, **arguments)
    assert str(error.value).startswith(message)


def test_kernels_take_turns_there_and_back():
    turns = []

    def timer(name):
        return lambda: [10 * (turns.append(name) or len(turns))]

    one, two = take_turns([timer("a"), timer("b")], 0.0)
    assert "".join(turns) == "abbaabbaab"
    assert one.rounds.ravel().tolist() == [10, 40, 50, 80, 90]
    assert two.rounds.ravel().tolist() == [20, 30, 60, 70, 100]
    assert one.microseconds.median == 0.05
    assert two.relative_to(one).median == pytest.approx(100 / 90)


def test_shapes_count_by_their_weights():
    own, other = Times(np.array([[4.0, 1.0]])), Times(np.array([[1.0, 1.0]]))
    assert own.relative_to(other, (1.0, 1.0)).median == pytest.approx(2.0)
    assert own.relative_to(other, (1.0, 3.0)).median == pytest.approx(4**0.25)
    assert (Times() + own).microseconds.median == pytest.approx(0.005)


SUM = models.tree_sum(hidden=2, vocab=7)


def sums(factor: float) -> cortex.Output:
    params = {name: (factor * array).astype(np.float32) for name, array in SUM.init_params(seed=0).items()}
    return cortex.compile(SUM, params)(TREES)


def test_other_bits_are_a_fault_unless_an_order_was_changed():
    own, near, far = sums(1), sums(1 + 1e-6), sums(1.1)
    steps, refactored = RecursionOptions(reduction_unroll=2), RecursionOptions(refactor=("x",))
    assert disagreement(steps, own, DEFAULT, own) is None
    with pytest.raises(
        InternalError, match=r"tune: RecursionOptions\(reduction_unroll=2\) changes the bits of 'h'"
    ):
        disagreement(steps, near, DEFAULT, own)
    assert disagreement(refactored, near, DEFAULT, own) is None
    assert "differ from the default's by" in (disagreement(refactored, far, DEFAULT, own) or "")
