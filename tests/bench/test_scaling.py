"""Predictions of more threads: the model by hand, shares counted from programs, and the command, small."""

import json

import numpy as np
import pytest

from bench.performance import main as write_page
from bench.results import TeamCost
from bench.scaling import main, predicted_us
from bench.shares import Phase, Shares, count_shares
from ragged.ir.parser import parse
from ragged.runtime.orders import share_begins
from tests.bench.test_performance import RUN

FREE, TEAM = TeamCost(0.0, 0.0), TeamCost(100.0, 50.0)
ROWS = """\
program("rows")

workers: call()
rows: call()
steps: call()
length: input(n < rows) = facts(0 <= length(n) < 1000)
x: payload(float32[rows, 1000])
y: output(float32[rows, 1000])

with kernel:
    for w in team(workers):
        for s in serial(steps):
            first = w * rows // workers
            for n_s in serial((w + 1) * rows // workers - first):
                n = first + n_s
                for o in serial(length(n)):
                    for i in vectorized(16):
                        y[n, o * 16 + i] = 2.0 * x[n, o * 16 + i]
            barrier(team)
            if w == 0:
                for k in serial(rows):
                    y[k, 0] = x[0, 0]
"""


def perfect(workers, work=800.0, touched=0.0, phases=1):
    return Shares(workers, (Phase(work / workers, work, touched),) * phases, touched * phases)


@pytest.mark.parametrize("workers", [1, 2, 8, 64])
def test_perfect_shares_take_their_part_of_the_time(workers):
    assert perfect(workers).imbalance == 1
    assert predicted_us(perfect(workers), 5.0, 1.0, FREE, 0) == pytest.approx(4.0 / workers)


def test_one_item_takes_as_long_with_any_number_of_threads():
    for workers in (1, 8):
        shares = Shares(workers, (Phase(800.0, 800.0, 0.0),), 0.0)
        assert shares.imbalance == workers
        assert predicted_us(shares, 5.0, 1.0, FREE, 0) == 4.0


def test_each_phase_takes_the_longer_of_its_work_and_its_bytes():
    compute, read = Phase(100.0, 800.0, 1000.0), Phase(10.0, 80.0, 4000.0)
    shares = Shares(8, (compute, read), 5000.0)
    assert predicted_us(shares, 5.0, 10.0, FREE, 4999.0) == pytest.approx((500 + 400) / 1000)
    assert predicted_us(shares, 5.0, 10.0, FREE, 5000.0) == pytest.approx((500 + 50) / 1000)  # in the cache
    assert predicted_us(shares, 5.0, 100.0, FREE, 0.0) == pytest.approx((500 + 50) / 1000)


def test_barriers_and_helpers_grow_with_the_threads():
    nothing = [Shares(workers, (Phase(0.0, 0.0, 0.0),) * 4, 0.0) for workers in (1, 2, 8)]
    assert [predicted_us(each, 1.0, 1.0, TEAM, 0) for each in nothing] == pytest.approx(
        [0.0, (3 * 100 + 50) / 1000, (3 * 400 + 7 * 50) / 1000]
    )


def test_shares_are_those_of_the_program():
    # A vector is two instructions, a product and a store; a copy is one, of an element of each array.
    values = {"rows": 4, "steps": 2, "length": np.array([5, 0, 2, 1], np.int32)}
    found = count_shares(parse(ROWS), values, 2)
    moved = 4 * 16 * 8 * 2  # each element once in x and in y
    assert found.phases == (
        Phase(10.0, 16.0, moved),
        Phase(10.0 + 4.0, 16.0 + 4.0, moved + 2 * 4 * 4),
        Phase(4.0, 4.0, 2 * 4 * 4),
    )
    assert found.touched == 2 * (moved + 2 * 4 * 4)
    assert found.imbalance == pytest.approx(28 / 20)
    assert count_shares(parse(ROWS), values, 4).phases[0].busiest == 10
    assert count_shares(parse(ROWS), values, 1).imbalance == 1


def test_balanced_shares_are_those_of_the_call():
    text = ROWS.replace("rows: call()\n", "rows: call()\nbegin: payload(p < workers + 1)\n", 1)
    text = text.replace("w * rows // workers\n", "begin(w)\n").replace(
        "(w + 1) * rows // workers -", "begin(w + 1) -"
    )
    length = np.array([9, 4, 3, 2], np.int32)
    values = {"rows": 4, "steps": 1, "length": length, "begin": share_begins(length, 2)}
    assert count_shares(parse(text), values, 2).phases[0].busiest == 18
    assert count_shares(parse(ROWS), values, 2).phases[0].busiest == 26


def test_the_command(tmp_path, capsys):
    result, run, text = (tmp_path / name for name in ("scaling.json", "run.json", "page.md"))
    arguments = ("--quick", "--operators", "trmm", "--models", "dag_rnn", "--rounds", "2")
    assert main([*arguments, "--threads", "3,5", "--memory", "1,2", "--json", str(result)]) == 0
    printed = capsys.readouterr().out
    found = json.loads(result.read_text(encoding="utf-8"))
    assert found["schema"] == 1
    assert {"processor", "system", "cores", "load"} == set(found["machine"])
    assert found["team"]["barrier"] > 0
    assert [row["workload"] for row in found["rows"]] == ["trmm", "dag_rnn"]
    for row in found["rows"]:
        assert row["workload"] in printed
        assert row["check"]["us"] > 0
        assert [each["threads"] for each in row["more"]] == [3, 3, 5, 5]
        for each in row["more"]:
            assert 1 <= each["imbalance"] <= each["threads"]
            assert each["us"] > 0
    run.write_text(json.dumps(RUN), encoding="utf-8")
    assert write_page([str(run), "--scaling", str(result), "--out", str(text)]) == 0
    assert "## More cores" in text.read_text(encoding="utf-8")


def test_operators_that_are_not_predicted(capsys):
    with pytest.raises(SystemExit):
        main(["--operators", "softmax"])
    assert "no operator is called 'softmax': vgemm, trmm, " in capsys.readouterr().err
