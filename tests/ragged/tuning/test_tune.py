"""`ragged.tune`: a real search, its records, Ctrl-C, and what cannot be tuned."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ragged
from ragged import ScheduleOptions
from ragged.errors import InternalError, UserError
from ragged.ir.dtype import DType
from ragged.tuning import contest, read_records
from ragged.tuning.bits import bits_of
from ragged.tuning.calls import shapes_text
from ragged.tuning.compile_ahead import CompileAhead
from ragged.tuning.subject import RaggedSubject

SPACE = {"tile": [(2, 1), (4, 2), (99, 99)], "reduction_unroll": [2]}
RNG = np.random.default_rng(0)
WEIGHTS = RNG.standard_normal((128, 8), np.float32)


def dense():
    rows, r, c, k = ragged.size("M"), ragged.dim("r"), ragged.dim("c"), ragged.dim("k")
    x = ragged.input_tensor("X", [(r, rows), (k, 8)])
    w = ragged.parameter("W", [(c, 128), (k, 8)])
    return ragged.compute("Y", [(r, rows), (c, 128)], lambda i, j: ragged.sum(8, lambda q: x[i, q] * w[j, q]))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CORTEX_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def pretended(monkeypatch):
    """Tiles of two rows take half the time."""
    compiled = RaggedSubject.compile

    def pretend(subject, options):
        kernel = compiled(subject, options)
        time = 500.0 if options.tile == (2, 1) else 1000.0
        return contest.TunedKernel(
            options, kernel.loops, kernel.answers, lambda: [time] * len(subject.weights)
        )

    monkeypatch.setattr(RaggedSubject, "compile", pretend)


def tuned(**arguments):
    given = {"shapes": {"M": [3, 7]}, "seconds": 60, "strategy": "grid", "space": SPACE, "threads": 1}
    return ragged.tune(dense(), {"W": WEIGHTS}, **(given | {"cache": False} | arguments))


def test_a_search_finds_the_fastest_and_keeps_records_to_go_on_from(pretended, tmp_path, monkeypatch):
    path, points = tmp_path / "records.jsonl", []
    found = tuned(records=path, advance=lambda: points.append(1))
    assert found.best.tile == (2, 1) and found.gain == pytest.approx(2.0) and not found.interrupted
    assert len(points) == 8 == len(read_records(path))
    assert any("does not fit in registers" in each.because for each in found.refused)
    assert f"ragged.compile(..., options=ragged.{found.best!r})" in found.advice
    # The second search has nothing left to try but the best, which it times again.
    again = tuned(records=path)
    assert again.best == found.best and {each.options for each in again.timed} == {
        ScheduleOptions(),
        found.best,
    }
    # Other shapes are another question.
    assert len(tuned(records=path, shapes={"M": [3, 8]}).timed) == len(found.timed)


def test_points_are_compiled_in_other_processes_and_timed_here(monkeypatch):
    real = ragged.tune(dense(), {"W": WEIGHTS}, shapes={"M": 5}, seconds=0.0, threads=1, space=SPACE)
    assert [each.options for each in real.timed] == [ScheduleOptions()]  # no time: the default alone
    prepared = []
    ahead = CompileAhead.__call__
    monkeypatch.setattr(
        CompileAhead, "__call__", lambda self, jobs: prepared.extend(jobs) or ahead(self, jobs)
    )
    monkeypatch.setattr(
        "ragged.api.pipeline.generate_kernel", lambda *_: pytest.fail("a point is compiled here, not found")
    )
    found = tuned(cache=True, space={"reduction_unroll": [2]}, shapes={"M": 5})
    assert len(prepared) == 2 and found.timed and all(each.kernel_us.median > 0 for each in found.timed)


def test_shapes_that_calls_brought_are_tuned_for():
    function = ragged.compile(dense(), {"W": WEIGHTS}, threads=1)
    for rows in (3, 3, 5):
        function(X=np.ones((rows, 8), np.float32))
    found = tuned(shapes=function.observed(), space={"reduction_unroll": [2]})
    assert len(found.timed) == 2


@pytest.mark.parametrize("inner", [ragged.size("K", 1, 64), ragged.size("K")], ids=["a range", "no range"])
def test_sizes_that_parameters_decide(inner):
    r, c, k, rows = ragged.dim("r"), ragged.dim("c"), ragged.dim("k"), ragged.size("M")
    x, w = ragged.input_tensor("X", [(r, rows), (k, inner)]), ragged.parameter("W", [(c, 128), (k, inner)])
    y = ragged.compute("Y", [(r, rows), (c, 128)], lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]))
    space = {"reduction_unroll": [2]}
    found = ragged.tune(
        y, {"W": WEIGHTS}, shapes={"M": [3]}, seconds=0.0, threads=1, space=space, cache=False
    )
    assert found.timed


def test_calls_can_be_given_instead_of_shapes():
    found = tuned(shapes=None, calls=[{"X": np.ones((4, 8), np.float32)}], space={"reduction_unroll": [2]})
    assert len(found.timed) == 2


def test_other_bits_are_a_fault_of_the_compiler(monkeypatch):
    compiled = RaggedSubject.compile

    def wrong(subject, options):
        kernel = compiled(subject, options)
        answers = kernel.answers if options == ScheduleOptions() else [b"other"]
        return contest.TunedKernel(options, kernel.loops, answers, kernel.time)

    monkeypatch.setattr(RaggedSubject, "compile", wrong)
    with pytest.raises(InternalError, match=r"tune: ScheduleOptions\(.*\) changes the bits of Y"):
        tuned(space={"reduction_unroll": [2]})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": {"steps": [1]}}, "tune: there is no option 'steps'"),
        ({"space": 5}, "tune: space=5 names no options"),
        ({"seconds": "60"}, "tune: seconds='60' is no duration"),
        ({"seconds": float("nan")}, "tune: seconds=nan is no duration"),
        ({"strategy": "luck"}, "tune: no strategy is called 'luck'"),
        ({"shapes": None}, "tune: no shapes are given for size 'M'"),
        ({"shapes": {"M": [2**59]}}, "tune: no values can be drawn for 'X'"),
        ({"strategy": None}, "tune: no strategy is called None"),
        *(
            ({"calls": calls}, "tune: calls= is no list of the arguments of calls by name, or an empty one")
            for calls in ({"X": [1.0]}, [], 5, iter([{"X": WEIGHTS}]), WEIGHTS, [WEIGHTS])
        ),
        ({"seed": -1}, "tune: seed=-1 is no seed"),
        ({"seed": "x"}, "tune: seed='x' is no seed"),
        ({"key": "mine"}, "tune: key='mine' is no RecordKey"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_tuned(arguments, message):
    with pytest.raises(UserError) as error:
        tuned(**arguments)
    assert str(error.value).startswith(message)


def test_a_compiled_function_is_not_tuned():
    with pytest.raises(UserError, match="tune: RaggedFunction is neither a tensor nor a schedule of some"):
        ragged.tune(ragged.compile(dense(), {"W": WEIGHTS}), shapes={"M": [3]})


def test_records_are_of_a_precision_and_a_size_of_code(tmp_path):
    records = tmp_path / "records.jsonl"
    for options in ({}, {"precision": "bf16"}, {"code_bytes": 10_000}):
        found = tuned(records=records, space={"reduction_unroll": [2]}, **options)
        assert len(found.timed) + len(found.refused) == 2, "no time of other code stands for one of this"
    assert len({each.key for each in read_records(records)}) == 3


def test_calls_of_other_lengths_have_other_records():
    """As many rows, more than NumPy prints."""
    few, many = np.ones(2000, int), np.ones(2000, int)
    many[10:1990] = 3
    texts = [
        shapes_text([{"A": ragged.array(np.ones(each.sum(), np.float32), lengths=each)}])
        for each in (few, many, few)
    ]
    assert texts[0] == texts[2] != texts[1]
    lists = [shapes_text([{"A": [np.full(3, number), np.ones(2)]}]) for number in (0, 1)]
    assert lists[0] == lists[1] != shapes_text([{"A": [np.ones(3), np.ones(3)]}])


def test_which_nan_it_is_changes_no_bit():
    signs = np.array([0x7FC00000, 0xFFC00000, 0x3F800000], np.uint32).view(np.float32)
    assert bits_of(signs) == bits_of(np.array([np.nan, np.nan, 1], np.float32))
    assert bits_of(signs[:2]) != bits_of(np.array([np.nan, 0], np.float32))
    assert bits_of(np.array([0.0])) != bits_of(np.array([-0.0]))
    half = np.array([np.nan, 1], DType.BFLOAT16.numpy)
    assert bits_of({"y": half}) == bits_of(-half[:1]) + bits_of(half[1:])


ENDLESS = """
import numpy as np, ragged
from tests.ragged.tuning.test_tune import dense, WEIGHTS
print("begun", flush=True)
found = ragged.tune(dense(), {"W": WEIGHTS}, shapes={"M": [3, 7]}, seconds=600, threads=1,
                    advance=lambda: print("point", flush=True))
print(found.interrupted, len(found.timed) > 0, flush=True)
"""


def test_an_interrupt_keeps_the_best_so_far(tmp_path):
    root = os.fspath(ragged.__path__[0] + "/..")
    command, environment = [sys.executable, "-c", ENDLESS], {**os.environ, "PYTHONPATH": "."}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=environment)
    with process:
        for _ in range(3):  # two points are compiled
            process.stdout.readline()
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().split("\n")
        assert process.wait(timeout=60) == 0
    assert time.monotonic() - begin < 5  # two seconds, and what a machine at work adds
    assert rest[-2] == "True True"
