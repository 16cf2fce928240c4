"""trim_loop: blocks that nothing reads are not stored."""

import numpy as np
import pytest

from ragged.ir.expr import Const
from ragged.ir.parser import parse
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.trim_loop import trim_loop
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.support import body, loop, refused

PANELS = """\
program("panels")

rows: call()
n: call()
x: payload(float32[rows, n])
t: workspace(float32[rows, (n + 7) // 8, 8])
y: output(float32[rows, n])

with kernel:
    for r in serial(rows):
        for p in serial((n + 7) // 8):
            for v in serial(4):
                for i in serial(2):
                    t[r, p, v * 2 + i] = x[r, p * 8 + v * 2 + i] if p * 8 + v * 2 + i < n else 0.0
    for m in serial(rows):
        for q in serial((n + 7) // 8):
            for j in serial(min(n - q * 8, 8)):
                y[m, q * 8 + j] = t[m, q, j] + 1.0
"""
EXTENT = "min((n + 1) // 2 - p * 4, 4)"


def panels(old="", new=""):
    assert old in PANELS
    return parse(PANELS.replace(old, new))


def trimmed(program, extent=EXTENT, name="v"):
    var = loop(program, name)
    return program, var, LoopSchedule(program).index(extent, var)


def data():
    random = np.random.default_rng(0)
    for rows, n in ((0, 3), (1, 0), (2, 1), (1, 2), (2, 7), (1, 8), (2, 9), (1, 16), (1, 21)):
        yield {"rows": rows, "n": n}, {"x": random.standard_normal((rows, n), np.float32)}


def test_text(golden):
    program, var, extent = trimmed(panels())
    new = valid(trim_loop, program, var, extent).program
    golden("trim_loop.txt", f"{body(program)}\ntrim_loop(v, {EXTENT})\n\n{body(new)}")
    same(program, new, data())
    same_compiled(program, new, data())


def test_a_number():
    program, var, _ = trimmed(panels("(min(n - q * 8, 8))", "(min(n - q * 8, 4))"))
    new = valid(trim_loop, program, var, Const(2)).program
    assert "for v in serial(2)" in body(new)


NOTHING_READ = panels("t[m, q, j] + 1.0", "1.0")


def test_an_extent_of_zero_where_nothing_is_read():
    program, var, _ = trimmed(NOTHING_READ)
    new = valid(trim_loop, program, var, Const(0)).program
    same(program, new, data())


REFUSED = {
    "read": (panels("t[m, q, j]", "t[m, q, 7 - j]"), EXTENT, "v"),
    "one_less": (panels(), "min(n // 2 - p * 4, 4)", "v"),
    "longer": (panels(), "(n + 1) // 2", "v"),
    "no_blocks": (panels("v * 2 + i] = x", "v + i * 4] = x"), EXTENT, "v"),
    "an_output": (panels("t: workspace", "t: output"), EXTENT, "v"),
    "another_name": (
        panels("y: output", "u: workspace(float32[rows, n], aliases=t)\ny: output"),
        EXTENT,
        "v",
    ),
    "updated": (
        panels(
            "y[m, q * 8 + j] = t[m, q, j]",
            "t[m, q, 7 - j] += 1.0\n                y[m, q * 8 + j] = t[m, q, j]",
        ),
        EXTENT,
        "v",
    ),
    "lanes": (panels("i in serial(2)", "i in vectorized(2)"), "min(n, 2)", "i"),
    "no_index": (panels("t[r, p, v * 2 + i] =", "t[rows - 1 - r, p, v * 2 + i] ="), "min(r + 4, 4)", "v"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case, golden):
    text = refused(trim_loop, *trimmed(*REFUSED[case]))
    golden(f"trim_loop_{case}.txt", f"{text}\n")


@pytest.mark.parametrize("index", ["v // 2 * 4 + v % 2 * 2 + i", "v * 0 + i", "6 - v * 2 + i"])
def test_places_that_are_no_blocks(index):
    program, var, extent = trimmed(panels("v * 2 + i] = x", f"{index}] = x"))
    assert "no blocks of a dimension of 't'" in refused(trim_loop, program, var, extent)


def test_blocks_of_one_element():
    text = PANELS.replace("for i in serial(2)", "for i in serial(1)").replace("v * 2 + i", "v")
    program, var, extent = trimmed(parse(text.replace("serial(4)", "serial(8)")), "min(n - p * 8, 8)")
    new = valid(trim_loop, program, var, extent).program
    assert "for v in serial(min(n - p * 8, 8))" in body(new)
    same(program, new, data())


REFILLED = """\
program("refilled")

n: call()
x: payload(float32[n])
t: workspace(float32[8])
y: output(float32[n])

with kernel:
    for p in serial((n + 7) // 8):
        for v in serial(4):
            for i in serial(2):
                t[v * 2 + i] = x[p * 8 + v * 2 + i] if p * 8 + v * 2 + i < n else 0.0
        for j in serial(min(n - p * 8, 8)):
            y[p * 8 + j] = t[j] + 1.0
"""


def test_a_temporary_that_each_iteration_fills():
    program, var, extent = trimmed(parse(REFILLED))
    new = valid(trim_loop, program, var, extent).program
    assert f"for v in serial({EXTENT})" in body(new)
    few = [({"n": n}, {"x": np.arange(n, dtype=np.float32)}) for n in (0, 1, 7, 8, 9, 21)]
    same(program, new, few)
    same_compiled(program, new, few)


OF_A_WORKER = """\
program("of_a_worker")

n: call()
workers: call()
x: payload(float32[n])
t: workspace(float32[workers, 8])
y: output(float32[n])

with kernel:
    for w in team(workers):
        first = w * ((n + 7) // 8) // workers
        for p_s in serial((w + 1) * ((n + 7) // 8) // workers - first):
            p = first + p_s
            for v in serial(4):
                for i in serial(2):
                    t[w, v * 2 + i] = x[p * 8 + v * 2 + i] if p * 8 + v * 2 + i < n else 0.0
            for j in serial(min(n - p * 8, 8)):
                y[p * 8 + j] = t[w, j] + 1.0
"""


def test_a_worker_s_part_of_a_temporary():
    program, var, extent = trimmed(parse(OF_A_WORKER))
    new = valid(trim_loop, program, var, extent).program
    assert f"for v in serial({EXTENT})" in body(new)
    same(
        program, new, [({"n": n, "workers": 2}, {"x": np.arange(n, dtype=np.float32)}) for n in (0, 7, 9, 21)]
    )
    other = parse(OF_A_WORKER.replace("y[p * 8 + j] = t[w, j]", "y[p * 8 + j] = t[0, j]"))
    assert "depends on more than sizes and indices of 't'" in refused(trim_loop, *trimmed(other))


@pytest.mark.parametrize(
    "text",
    [
        REFILLED.replace("+ 1.0", "+ 1.0\n    y[0]: y.after = t[7]"),
        REFILLED.replace("        for v", "        y[p * 8]: y.before = t[7]\n        for v"),
    ],
    ids=["read after", "read before"],
)
def test_a_temporary_that_more_than_one_iteration_reads(text):
    assert "depends on more than sizes and indices of 't'" in refused(trim_loop, *trimmed(parse(text)))
