"""The search over options: what it tries, compares and finds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import cortex
from cortex import RecursionOptions, models
from cortex.compiler.options import DEFAULT
from cortex.tuning import Tuning, search
from cortex.tuning.answers import disagreement
from ragged.errors import InternalError, UserError
from ragged.tuning import read_records
from ragged.tuning.compile_ahead import CompileAhead
from ragged.tuning.contest import Contest
from ragged.tuning.rounds import LEAST_ROUNDS, Times, take_turns

MODEL = models.tree_fc(hidden=4, vocab=7)
PARAMS = MODEL.init_params(seed=1)
TREES = [((1, 2), (3, ((4, 5), 6))), 3, (((0, 1), 2), (3, 4))]
SPACE = {"reduction_unroll": [2], "tile": [(5, 2), (99, 99)], "slice_vectors": [4]}


@pytest.fixture
def pretended(monkeypatch):
    """Two steps in a turn take half the time, a tile of six rows takes a hundredth more."""

    compiled = search._ModelSubject.compile

    def pretend(subject, options):
        time = 100_000 / (1 + (options.reduction_unroll == 2)) * (1 + (options.tile == (5, 2)) / 100)
        return replace(compiled(subject, options), time=lambda: [time])

    monkeypatch.setattr(search._ModelSubject, "compile", pretend)


FOUND = """\
options                          kernel, us      10-90 %  of the default
reduction_unroll=2                     50.0    50.0-50.0           0.500  best
tile=(5, 2), reduction_unroll=2        50.5    50.5-50.5           0.505
default                               100.0  100.0-100.0           1.000
not timed: tile=(99, 99), reduction_unroll=2: options: tile=(99, 99) does not fit in registers
not timed: 1 with the kernel of another point
Faster than the default by 2.00: cortex.compile(..., options=cortex.RecursionOptions(reduction_unroll=2))"""


def test_parameters_are_searched_one_after_another(pretended):
    points = []
    found = cortex.tune(
        MODEL, PARAMS, TREES, space=SPACE, threads=1, cache=False, advance=lambda: points.append(1)
    )
    assert found.best == RecursionOptions(reduction_unroll=2) and found.gain == 2
    assert str(found) == FOUND
    assert len(points) == 4


def test_a_whole_grid_has_all_combinations(pretended):
    space = {"reduction_unroll": [2], "share_columns": [False]}
    found = cortex.tune(MODEL, PARAMS, TREES, space=space, strategy="grid", threads=1, cache=False)
    assert len(found.timed) + len(found.refused) == 4


def test_records_of_a_search_are_gone_on_from(pretended, tmp_path):
    path, calls = tmp_path / "records.jsonl", []
    tune = partial(cortex.tune, MODEL, PARAMS, space=SPACE, threads=1, cache=False, records=path)
    first = tune(TREES)
    assert len(read_records(path)) == 4
    again = tune(TREES, advance=lambda: calls.append(1))
    assert again.best == first.best and len(calls) == 1  # the best, which is timed again
    other = tune(TREES[:1], advance=lambda: calls.append(1))
    assert len(calls) == 1 + 4 and other.best == first.best  # another batch is another question


def test_points_are_compiled_in_other_processes(monkeypatch, tmp_path):
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path))
    cortex.compile(MODEL, PARAMS, threads=1)
    prepared, ahead = [], CompileAhead.__call__
    monkeypatch.setattr(
        CompileAhead, "__call__", lambda self, jobs: prepared.extend(jobs) or ahead(self, jobs)
    )
    monkeypatch.setattr(
        "cortex.compiler.pipeline.generate_kernel", lambda *_, **__: pytest.fail("a point is compiled here")
    )
    space = {"reduction_unroll": [2, 3], "refactor": [("no such operator",)]}
    found = cortex.tune(MODEL, PARAMS, TREES, space=space, threads=1)
    assert len(prepared) == 2 and {each.options for each in found.timed} >= {DEFAULT}
    assert any("no such operator" in each.because for each in found.refused)


def test_an_interrupt_keeps_the_best_so_far(pretended):
    def interrupt():
        raise KeyboardInterrupt

    found = cortex.tune(MODEL, PARAMS, TREES, space=SPACE, threads=1, cache=False, advance=interrupt)
    assert found.interrupted and found.best == DEFAULT


def test_what_is_a_hundredth_faster_is_not_better():
    own, close, better = (Times(np.full(LEAST_ROUNDS, time)) for time in (100.0, 99.0, 97.0))
    contest = Contest(search._ModelSubject(MODEL, PARAMS, TREES, {}, CompileAhead(0)))
    two = RecursionOptions(reduction_unroll=2)
    assert contest._fastest({DEFAULT: own, two: close}, DEFAULT) == DEFAULT
    assert contest._fastest({DEFAULT: own, two: better}, DEFAULT) == two
    nothing = Tuning(DEFAULT, (), ())
    assert nothing.advice == "Nothing is clearly faster than the default."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": {"step": [2]}}, "tune: there is no option 'step'"),
        (
            {"space": {"reduction_unroll": 2}},
            "tune: the values of reduction_unroll are 2\n  fix: a list of values to try",
        ),
        (
            {"space": {"share_columns": [False], "reduction_unroll": [2, 0]}},
            "options: reduction_unroll=0 is not a number from 1 up",
        ),
        ({"strategy": "luck"}, "tune: no strategy is called 'luck'"),
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
