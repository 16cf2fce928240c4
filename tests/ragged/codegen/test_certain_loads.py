"""Choices by data in vectors: all lanes read what is there whatever decides, and nothing else."""

import numpy as np
import pytest

from ragged import tc
from ragged.analysis.certain_loads import certain_loads
from ragged.ir.parser import parse

LIBRARY = tc.define("""
def filled(bool(N,D) m, float(N,D) x) -> (y) { y(n,d) = m(n,d) ? x(n,d) : -1.0e9 }
def either(bool(N,D) m, float(N,D) x, float(N,D) z) -> (y) { y(n,d) = m(n,d) ? x(n,d) : z(n,d) }
def bytes(uint8(N,D) m, float(N,D) x) -> (y) { y(n,d) = m(n,d) == 1 ? x(n,d) : 0.0 }
def words(int32(N,D) m, float(N,D) x) -> (y) { y(n,d) = m(n,d) > 2 ? x(n,d) : 0.0 }
def rows(bool(N) m, float(N,D) x) -> (y) { y(n,d) = m(n) ? x(n,d) : 0.0 }
def columns(int32(D) m, float(N,D) x) -> (y) { y(n,d) = m(d) == 1 ? x(n,d) : 0.0 }
def length(int32(N) m, float(N,D) x) -> (y) { y(n,d) = d < m(n) ? x(n,d) : -1.0 }
def doubles(bool(N,D) m, double(N,D) x) -> (y) { y(n,d) = m(n,d) ? x(n,d) : 0.0 }
def largest(int32(N,D) a, int32(N,D) b) -> (y) { y(n,d) = a(n,d) > b(n,d) ? a(n,d) : b(n,d) * 2 }
def both(bool(N,D) m, float(N,D) x) -> (y) { y(n,d) = (m(n,d) && x(n,d) > 0.0) ? x(n,d) : 0.0 }
def nested(int32(N,D) m, float(N,D) x, float(N,D) z) -> (y) {
  y(n,d) = m(n,d) > 1 ? z(n,d) : (m(n,d) < 0 ? -x(n,d) : x(n,d) * z(n,d))
}
def quotients(int32(N,D) a, int32(N,D) b) -> (y) { y(n,d) = b(n,d) != 0 ? a(n,d) / b(n,d) : 9 }
def before(bool(N,D) m, float(N,D) x) -> (y) { y(n,d) = (d > 0 && m(n,d)) ? x(n,d - 1) : 0.0 where d in 0:D }
def looked_up(bool(N,D) m, int32(N,D) i, float(E) x) -> (y) { y(n,d) = m(n,d) ? x(i(n,d)) : 0.0 where d in 0:D }
""")
DRAWN = {
    "bool": lambda draw, shape: draw.random(shape) < 0.5,
    "uint8": lambda draw, shape: draw.integers(0, 3, shape).astype(np.uint8),
    "int32": lambda draw, shape: draw.integers(0, 5, shape).astype(np.int32),
    "float": lambda draw, shape: draw.standard_normal(shape).astype(np.float32),
    "double": lambda draw, shape: draw.standard_normal(shape),
}
ARGUMENTS = {
    "filled": "bool ND, float ND",
    "either": "bool ND, float ND, float ND",
    "bytes": "uint8 ND, float ND",
    "words": "int32 ND, float ND",
    "rows": "bool N, float ND",
    "columns": "int32 D, float ND",
    "length": "int32 N, float ND",
    "doubles": "bool ND, double ND",
    "largest": "int32 ND, int32 ND",
    "quotients": "int32 ND, int32 ND",
    "both": "bool ND, float ND",
    "nested": "int32 ND, float ND, float ND",
    "before": "bool ND, float ND",
    "looked_up": "bool ND, int32 ND, float E",
}


def arrays(name, sizes):
    draw = np.random.default_rng(0)
    drawn = [each.split() for each in ARGUMENTS[name].split(", ")]
    return [DRAWN[dtype](draw, tuple(map(sizes.get, dims))) for dtype, dims in drawn]


def sizes_of(name, **sizes):
    return {size: extent for size, extent in sizes.items() if size in ARGUMENTS[name]}


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("columns", [1, 37, 48])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_results_are_those_of_one_element_after_another(name, columns, fixed):
    sizes = sizes_of(name, N=5, D=columns, E=5)
    function, given = getattr(LIBRARY, name), arrays(name, sizes)
    got = function.compile(sizes=sizes if fixed else None, threads=1)(*given)
    np.testing.assert_array_equal(got, function.compile(schedule=None)(*given))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_lanes_branch_only_where_an_element_may_not_be_there(name):
    sizes = sizes_of(name, N=4, D=48, E=5)
    text = getattr(LIBRARY, name).compile(sizes=sizes, threads=1).show("tir")
    assert ("if_then_else" in text) is (name in ("before", "looked_up", "rows"))


def test_a_condition_of_all_lanes_branches():
    """It leaves out the work of the other value."""
    f = tc.define("def f(bool(N) m, float(N,D) x) -> (y) { y(n,d) = m(n) ? tanh(x(n,d)) : 0.0 }").f
    assert "if_then_else" in f.compile(sizes={"N": 4, "D": 48}, threads=1).show("tir")


CHOSEN = """\
program("chosen")

n: input()
m: payload(float32[n, 32])
x: payload(float32[n, {columns}])
y: output(float32[n, 32])

with kernel:
    for i in serial(n):
        for j in {kind}(32):
            y[i, j] = x[i, {index}] if m[i, j] > 0.0 else 0.0
"""


@pytest.mark.parametrize(
    ("columns", "kind", "index", "expected"),
    [
        (32, "vectorized", "j", 1),
        (40, "vectorized", "j + 8", 1),
        (39, "vectorized", "j + 8", 0),
        (32, "vectorized", "j - 1", 0),
        (32, "serial", "j", 0),  # a branch is as good
    ],
)
def test_elements_are_certain_where_all_indices_are_in_range(columns, kind, index, expected):
    program = parse(CHOSEN.format(columns=columns, kind=kind, index=index))
    found = certain_loads(program, program.stages[-1])
    assert [load.buffer.name for loads in found.values() for load in loads] == ["x"] * expected
