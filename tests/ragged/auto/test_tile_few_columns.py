"""Few columns of any number, in vectors along the rows: the same bits as in vectors of columns."""

import re

import numpy as np
import pytest

from ragged import tc
from ragged.auto.default_schedule import DefaultSchedule
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from tests.ragged.auto.test_tile_lanes import AVX2, AVX512, GROUPS, LIBRARY, array

SIZES = "N: call()\nF: call()\nW: call()\n"
WINDOWS = GROUPS.format(filters="F", width="W").replace("N: call()\n", SIZES)
PLAIN = tc.define("""
def plain(float(N,C,H,W) x, float(F,C,KH,KW) w) -> (y) { y(n,f,h,v) +=! x(n,c,h + p,v + q) * w(f,c,p,q) }
def twice(float(N,C,W) x, float(F,C,K) w) -> (y) { y(n,f,v) +=! x(n,c,v + q) * w(f,c,q) * w(f,c,q) }
def shared(float(N,C,W) x, float(F,C,K) w) -> (y, z) {
  y(n,f,v) +=! x(n,c,v + q) * w(f,c,q)
  z(f) +=! w(f,c,q)
}
def products(float(K,M) x, float(N,K) w) -> (y) { y(m,n) +=! x(k,m) * w(n,k) }
""")


@pytest.mark.parametrize("machine", [AVX512, AVX2])
def test_the_interpreter_agrees_on_both_sides_of_the_condition(machine):
    program = parse(WINDOWS)
    done = DefaultSchedule(machine, threads=2)(program).program
    lanes = machine.lanes(4)
    assert f"* ((W + {lanes - 1}) // {lanes}) + 1 <= W:" in to_text(done)
    for f, w in (
        (1, 1),
        (1, 17),
        (3, 1),
        (4, 54),
        (5, 33),
        (15, 16),
        (16, 16),
        (17, 30),
        (20, 70),
        (0, 4),
        (2, 0),
    ):
        sizes = {"N": 2, "F": f, "W": w}
        given = {"x": array(2, 2, w + 2), "w": array(f, 2, 3)}
        want = interpret(program, sizes, given)["y"]
        got = interpret(done, {**sizes, "workers": 2}, given)["y"]
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_grouped_convolutions_of_any_sizes(threads):
    function = LIBRARY.groups.compile(threads=threads)
    plain = LIBRARY.groups.compile(schedule=None)
    assert "version_loop" in function.explain()
    for f, w in (
        (1, 3),
        (1, 40),
        (2, 18),
        (3, 67),
        (4, 56),
        (7, 9),
        (8, 28),
        (12, 100),
        (16, 14),
        (18, 52),
        (33, 7),
    ):
        given = array(2, 3, 2, 5, w), array(3, f, 2, 3, 3), array(3, f)
        assert function(*given).tobytes() == plain(*given).tobytes()


@pytest.mark.parametrize("name", ["plain", "twice", "shared"])
def test_other_sums_of_windows(name):
    """Filters of one batch, a product of three, and filters that something else reads."""
    function, plain = PLAIN[name].compile(threads=2), PLAIN[name].compile(schedule=None)
    for f, w in ((1, 30), (3, 34), (9, 21), (40, 20)):
        deep = name == "plain"
        given = array(*((3, 2, 4, w) if deep else (3, 2, w))), array(*((f, 2, 2, 3) if deep else (f, 2, 3)))
        found, want = function(*given), plain(*given)
        for got, right in zip(
            *(each.values() if name == "shared" else [each] for each in (found, want)), strict=True
        ):
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)


def test_products_have_no_rows_to_choose():
    assert "+ 1 <= M:" not in PLAIN.products.compile(threads=2).show("loops")


def test_the_sum_is_not_stored_besides_what_is_made_of_it():
    """With its sizes fixed or not, what is added to a sum is added in registers."""
    sizes = {"N": 2, "G": 3, "C": 2, "F": 4, "H": 5, "W": 56}
    for given in ({}, sizes):
        loops = LIBRARY.groups.compile(threads=1, sizes=given).show("loops")
        assert set(re.findall(r"(\w+): workspace", loops)) <= {"w_packed"}
