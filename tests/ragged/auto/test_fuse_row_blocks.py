"""Sums of columns by blocks of rows are added up where the rows are read; others stay where they are."""

from functools import cache

import numpy as np
import pytest

from ragged import tc
from ragged.auto.fuse_row_blocks import fuse_row_blocks
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.schedule.loop_schedule import LoopSchedule, recorded_schedules
from tests.support.dependences.whole_schedules import violated_dependences

HEAD = """\
program("blocks")

N: call()
K: call()
x: payload(float32[N, K])
z: payload(float32[N, K])
w: payload(float32[K, K])
t: workspace(float32[N, K])
s: output(float32[(N + 15) // 16, K])
u: output(float32[(N + 15) // 16, K])
y: output(float32[N, K])

with kernel:
"""
ROWS = """\
    for n in parallel(N):
        for k in parallel(K):
            {stored}
"""
SUMS = """\
    for b in parallel((N + 15) // 16):
        for k in parallel(K):
            {out}[b, k] = 0.0
            for r in serial(min(N - b * 16, 16)):
                {out}[b, k] += {read}
"""
FUSED = """\
    for n_o in parallel((N + 15) // 16):
        for n_i in parallel(min(N - n_o * 16, 16)):
            for k in parallel(K):
                y[n_o * 16 + n_i, k] = x[n_o * 16 + n_i, k] * z[n_o * 16 + n_i, k]
        for k in parallel(K):
            s[n_o, k] = 0.0
            for r in serial(min(N - n_o * 16, 16)):
                s[n_o, k] += x[n_o * 16 + r, k]
"""
MORE = """\
        for k in parallel(K):
            u[n_o, k] = 0.0
            for r in serial(min(N - n_o * 16, 16)):
                u[n_o, k] += z[n_o * 16 + r, k]
"""
OTHER = """\
    for a in parallel(K):
        t[0, a] = 1.0
"""
PRODUCT = """\
    for n in parallel(N):
        for k in parallel(K):
            y[n, k] = 0.0
            for j in serial(K):
                y[n, k] += x[n, j] * w[k, j]
"""
TIMES = ROWS.format(stored="y[n, k] = x[n, k] * z[n, k]")
X, Z = SUMS.format(out="s", read="x[b * 16 + r, k]"), SUMS.format(out="u", read="z[b * 16 + r, k]")


def fused(*parts):
    program = parse(HEAD + "".join(parts))
    with recorded_schedules():
        schedule = LoopSchedule(program)
        fuse_row_blocks(schedule)
    assert violated_dependences(program, schedule) == []
    return schedule, schedule.record("fuse_row_blocks", "")


def test_sums_come_right_after_what_reads_the_rows():
    schedule, record = fused(TIMES, X, Z)
    assert to_text(schedule.program) == to_text(parse(HEAD + FUSED + MORE))
    assert not record.refused


def test_what_stands_between_stays_behind():
    schedule, record = fused(TIMES, OTHER, X)
    assert to_text(schedule.program) == to_text(parse(HEAD + FUSED + OTHER))
    assert len(record.applied) == 3


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((X,), "no loop before reads the rows"),
        ((PRODUCT, X), "no loop before reads the rows"),
        ((TIMES.replace("N):", "K):"), X), "'n' is over no such rows"),
        (
            (TIMES, X.replace("16):", "8):").replace("r, k]", "2 * r, k]").replace("16 + 2", "16 + 1 + 2")),
            None,
        ),
    ],
    ids=["alone", "a product", "other rows", "every second row"],
)
def test_other_sums_stay_as_they_are(parts, reason):
    _, record = fused(*parts)
    assert not record.applied
    reasons = [each.reason for each in record.refused]
    assert reasons == ([] if reason is None else [f"as written because: {reason}"])


def test_a_product_of_rows_in_blocks_keeps_its_tiles():
    sums = SUMS.format(out="s", read="x[b * 16 + r, 0] * w[k, r]").replace("min(N - b * 16, 16)", "16")
    _, record = fused(TIMES, sums)
    assert not record.applied and not record.refused


def test_rows_that_are_not_yet_computed_are_not_read():
    stored = ROWS.format(stored="t[N - 1 - n, k] = x[n, k]")
    sums = SUMS.format(out="s", read="x[b * 16 + r, k] * t[b * 16 + r, k]")
    schedule, record = fused(stored, sums)
    assert "for b in parallel" in to_text(schedule.program)
    assert len(record.refused) == 1 and not record.applied


LIB = tc.define("""
def f(float(N,K) x, float(K) g) -> (y, s, t) {
  m(n) +=! x(n,k)
  y(n,k) = (x(n,k) - m(n)) * g(k)
  s(k) +=! x(n,k) * m(n)
  t(k) +=! x(n,k)
}
def spread(float(N,K) x) -> (m, v) {
  m(k) +=! x(n,k)
  v(k) +=! (x(n,k) - m(k)) * (x(n,k) - m(k))
}
""")


@cache
def compiled(threads):
    return LIB.f.compile(threads=threads)


@pytest.mark.parametrize("rows", [0, 1, 15, 16, 17, 40])
def test_sums_are_of_sixteen_rows_each_for_any_number(rows):
    for columns in (1, 3, 4, 70):
        random = np.random.default_rng(rows)
        x, g = (random.standard_normal(shape, np.float32) for shape in ((rows, columns), columns))
        found = compiled(2)(x, g)
        wide, m = x.astype(float), x.sum(1, dtype=float, keepdims=True)
        np.testing.assert_allclose(found["y"], (wide - m) * g, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found["s"], (wide * m).sum(0), rtol=1e-4, atol=1e-4)
        total = np.zeros(columns, np.float32)
        for begin in range(0, rows, 16):
            part = np.zeros(columns, np.float32)
            for row in x[begin : begin + 16]:
                part += row
            total += part
        np.testing.assert_array_equal(found["t"], total)


@pytest.mark.parametrize("columns", [1, 3, 70])
def test_the_order_is_that_of_the_number_of_rows(columns):
    x, g = (np.random.default_rng(1).standard_normal(shape, np.float32) for shape in ((53, columns), columns))
    own = compiled(2)(x, g)
    for other in (compiled(1), LIB.f.compile(sizes={"N": 53, "K": columns}, threads=3)):
        found = other(x, g)
        assert all(own[name].tobytes() == found[name].tobytes() for name in own)


def test_sums_of_rows_that_nothing_else_reads_are_not_divided():
    assert "parts" not in LIB.spread.show("loops")
    assert "parts" in LIB.f.show("loops")
    assert "parts" not in LIB.f.compile(sizes={"N": 16}).show("loops")
