"""A step that is legal because of a fact leaves a prelude that checks the fact."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.errors import ScheduleError
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.split import split
from ragged.transform.mapping.parallel import parallel

SCATTER = """
program("scatter")

rows: input()
order: input(i < rows) = facts(0 <= order(i) < rows, monotone(strict=True))
x: output(float32[rows])
y: output(int64[1])

with kernel:
    for i in serial(rows):
        x[order(i)] = 1.0
    for j in serial(rows):
        y[0] = order(j)
"""


def scatter(schedule: LoopSchedule, order: list[int]) -> np.ndarray:
    return interpret(schedule.checked(), {"rows": len(order)}, {"order": np.array(order, np.int32)})["x"]


def prelude(schedule: LoopSchedule) -> str:
    text = str(schedule.checked())
    return text[text.index("with prelude:") : text.index("with kernel:")].rstrip()


def test_the_fact_of_a_proof_is_checked_before_the_kernel():
    s = LoopSchedule(parse(SCATTER))
    s.apply(parallel, s.loop("i"))
    assert prelude(s) == (
        "with prelude:\n"
        "    for i in serial(rows - 1):\n"
        '        check(order(i) < order(i + 1), "order({0}) = {1} is not < order({2}) = {3}", '
        "i, order(i), i + 1, order(i + 1), label=order.fact)"
    )
    assert scatter(s, [0, 1, 2]).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(CheckFailed, match=r"order\(1\) = 2 is not < order\(2\) = 2"):
        scatter(s, [1, 2, 2])


def test_steps_without_proofs_and_refused_ones_check_nothing():
    s = LoopSchedule(parse(SCATTER))
    s.apply(split, s.loop("i"), 4)
    with pytest.raises(ScheduleError):
        s.apply(parallel, s.loop("j"))
    assert s.checked().stage(StageKind.PRELUDE) is None


def test_it_is_checked_once_and_goes_with_the_step():
    s = LoopSchedule(parse(SCATTER))
    before = s.checkpoint()
    for _ in range(2):
        i = s.loop("i")
        outer, inner = s.apply(split, i, 4).loops[i][:2]
        s.apply(parallel, outer)
        s.apply(parallel, inner)
        assert str(s.checked()).count("is not < order") == 1
        s.restore(before)
        assert s.checked().stage(StageKind.PRELUDE) is None


def test_an_attempt_is_taken_back_as_a_whole_and_its_refusal_kept():
    s = LoopSchedule(parse(SCATTER))
    i = s.loop("i")
    with s.attempt():
        outer, inner = s.apply(split, i, 4).loops[i][:2]
        s.apply(parallel, outer)
    done, log = str(s.program), s.log()
    assert "parallel" in done
    with s.attempt():
        s.apply(split, inner, 2)
        s.apply(parallel, s.loop("j"))
    with s.attempt("a whole"):
        s.apply(split, inner, 2)
        raise ScheduleError("it brings nothing")
    assert (str(s.program), s.log()) == (done, log)
    assert [each.step for each in s.record("rule", "because").refused] == [
        "parallel",
        "a whole",
    ]
    with pytest.raises(ZeroDivisionError), s.attempt():
        raise ZeroDivisionError
