"""Random functions: the interpreter, the kernel and the reference agree, and nothing is read out of bounds."""

import pytest

from ragged import tc
from tests.ragged.tc import fuzz
from tests.ragged.tc.random_programs import Writer, arguments, close
from tests.ragged.tc.reference import evaluate, interpreted


@pytest.mark.parametrize("seed", range(6))
def test_interpreted(seed):
    for number in range(8):
        text = Writer(100 * seed + number).text()
        function = tc.define(text).f
        given = arguments(number)
        close(interpreted(function, *given), evaluate(function, *given), text)


@pytest.mark.parametrize(
    ("seed", "schedule"), [(seed, None) for seed in range(12)] + [(1, "default"), (2, "default")]
)
def test_compiled(seed, schedule):
    text = Writer(seed).text()
    function, given = tc.define(text).f, arguments(seed)
    found = function.compile(schedule=schedule)(*given)
    names = function._analysed.function.outputs
    close(
        found if len(names) > 1 else dict(zip(names, [found], strict=True)), evaluate(function, *given), text
    )


def test_a_few_examples_of_the_command(capsys):
    assert fuzz.main(["--examples", "4", "--seed", "3", "--chunk", "2"]) == 0
    assert "4 examples, 0 failed" in capsys.readouterr().out


def test_an_index_out_of_range_is_refused(monkeypatch):
    """The data of these examples name an element behind the last one, and one before the first."""
    seeds = (4_500_002_468, 4_500_003_190)
    assert [fuzz.failure(seed, scheduled=True) for seed in seeds] == [None, None]
    monkeypatch.setattr(fuzz, "interpreted", lambda function, *given: {})
    assert all("is read" in fuzz.failure(seed, scheduled=False) for seed in seeds)


def test_what_differs_is_reported(monkeypatch):
    monkeypatch.setattr(fuzz, "interpreted", lambda function, *given: {})
    failures = [each for seed in range(8) if (each := fuzz.failure(seed, scheduled=False)) is not None]
    assert failures and all("def f(" in each for each in failures)
