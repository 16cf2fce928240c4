"""Divisions in a choice: LLVM's vectorizer of loops made them only where the first lane's condition held."""

import numpy as np
import pytest

from ragged import tc
from ragged.analysis.guarded_divisions import divides_under_condition
from ragged.codegen.build import compile_program
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind

OPTIONS = [{"schedule": None}, {"threads": 1}, {"threads": 2}]
LIBRARY = tc.define("""
def fixed(float(N,D+E) x, float(D) a, float(E) b) -> (y) {
  y(n,d) = d == D ? x(d%N,d) : 1.0 where n in 0:N, d in 0:D+E
}
def either(float(N,M) x, float(D) a) -> (y) {
  y(n,d) = (d == D && x(d%N,0) > 0.0) ? 1.0 : 0.0 where n in 0:N, d in 0:M
}
def rows(float(N,M) x, float(E) e) -> (y) { y(n,d) = d == E ? x(n%N,d) : 1.0 where n in 0:2*N, d in 0:M }
def several(float(N,D+E) x, float(D) a, float(E) b, float(N) w) -> (q, y) {
  q(n,d) = d != D ? x(n,d) + w(n) : x(d%N,d) where n in 0:N, d in 0:D+E
  y(n,d) = q(n,d) * 2 + (d < D ? x(n,d) : w(n))
}
""")


@pytest.mark.parametrize("options", OPTIONS)
def test_the_division_is_that_of_each_lane(options):
    n, d, e = 3, 2, 70
    x, a, b = (np.arange(size, dtype=np.float32) for size in (n * (d + e), d, e))
    x = x.reshape(n, d + e)
    wanted = np.where(np.arange(d + e) == d, x[d % n], np.float32(1))
    np.testing.assert_array_equal(LIBRARY.fixed.compile(**options)(x, a, b), np.tile(wanted, (n, 1)))
    w = np.arange(n, dtype=np.float32)
    q = np.where(np.arange(d + e) == d, x[d % n], x + w[:, None])
    found = LIBRARY.several.compile(**options)(x, a, b, w)
    np.testing.assert_array_equal(found["q"], q)
    np.testing.assert_array_equal(found["y"], q * 2 + np.where(np.arange(d + e) < d, x, w[:, None]))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("columns", [37, 64])
def test_the_division_is_that_of_each_row(columns, options):
    x = np.random.default_rng(0).standard_normal((5, columns), np.float32)
    wanted = np.where(np.arange(columns) == 3, np.tile(x, (2, 1)), np.float32(1))
    np.testing.assert_array_equal(LIBRARY.rows.compile(**options)(x, np.zeros(3, np.float32)), wanted)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("row", range(3))
def test_the_division_after_another_condition(row, options):
    x = np.zeros((3, 72), np.float32)
    x[row, 0] = 1
    wanted = np.zeros((3, 72))
    wanted[:, 2] = row == 2
    np.testing.assert_array_equal(LIBRARY.either.compile(**options)(x, np.zeros(2, np.float32)), wanted)


BRANCH = """\
program("branch")

N: call()
M: call()
E: call()
x: payload(float32[N, M])
y: output(float32[N, M])

with kernel:
    for n in serial(N):
        for i in serial(M):
            y[n, i] = 0.0
            if {condition}:
                place = {index}
                y[n, i]: y.some = x[place, 0]
"""


@pytest.mark.parametrize(
    ("condition", "index", "found"),
    [
        ("i == E", "i % N", True),
        ("i == E", "n", False),
        ("i % N < E", "i % N", False),
        ("i == E", "i % 3", False),
    ],
)
def test_a_division_in_a_branch(condition, index, found):
    program = parse(BRANCH.format(condition=condition, index=index))
    assert divides_under_condition(program) is found
    compiled = compile_program(program)
    for n, m, e in ((3, 72, 2), (3, 130, 17), (5, 64, 4)):
        x, y = np.random.default_rng(m).standard_normal((n, m), np.float32), np.zeros((n, m), np.float32)
        given = {"N": n, "M": m, "E": e, "x": x}
        if index != "i % 3" or n == 3:
            compiled.call(StageKind.KERNEL, given | {"y": y})
            np.testing.assert_array_equal(y, interpret(program, {"N": n, "M": m, "E": e}, {"x": x})["y"])


PROGRAM = """\
program("divisions")

N: call()
M: call()
x: payload(float32[M])
y: output(float32[M])

with kernel:
    for i in serial(M):
        y[i] = {value}
"""


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("x[i % N] if i < 3 else 0.0", True),
        ("0.0 if i < 3 else 2.0 * x[i // N]", True),
        ("1.0 if i < 3 and x[i % N] > 0.0 else 0.0", True),
        ("1.0 if x[i] > 0.0 or x[i // N] > 0.0 else 0.0", True),
        ("1.0 if x[i // N] > 0.0 or x[i] > 0.0 else 0.0", False),
        ("x[i % N] if i % N < 3 else 0.0", False),
        ("x[i % N] if i < 3 and x[i % N] > 0.0 else 0.0", True),
        ("x[i % 4] if i < 3 else 0.0", False),
        ("x[i % N]", False),
        ("x[i] if i % N < 3 else 0.0", False),
        ("1.0 if i % N < 3 else 0.0", False),
    ],
)
def test_what_is_found(value, found):
    assert divides_under_condition(parse(PROGRAM.format(value=value))) is found
