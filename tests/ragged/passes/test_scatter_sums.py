"""Sums of selected terms are additions where an index says: the same bits, in the time of the terms."""

import numpy as np
import pytest

from ragged import tc
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.verify import verify
from ragged.passes.scatter_sums import scatter_sums
from ragged.tc.compiled import lower_analysed

LIB = tc.define("""
def lookup(float(E,D) T, int32(B,L) at) -> (O) { O(b,d) +=! T(at(b,l),d) }
def planes(float(E,G,D) T, int32(B) at) -> (O) { O(b,g,d) = T(at(b),g,d) * T(at(b),g,d) }
def counts(float(E) T, int64(N) at) -> (O) { O +=! T(at(n)) }
def shifted(float(E,D) T, int32(N) at) -> (O) {
  O(n,d) +=! (n - k >= 0 ? T(at(n - k),d) : 0) where n in 0:N, k in 0:2
}
""")


SIZES = {"E": 7, "D": 19, "B": 5, "L": 3, "G": 2, "N": 11}


def arguments(name, random):
    inputs = {}
    gradient = LIB[name].gradient(("T",))
    for each, shape in gradient.shapes({size: SIZES[size] for size in gradient.sizes}).items():
        floats = random.standard_normal(shape).astype(np.float32)
        kind = gradient.parameters[each][0]
        inputs[each] = floats if kind == "float32" else random.integers(0, 7, shape).astype(kind)
    return gradient, inputs


@pytest.mark.parametrize("fixed", [False, True], ids=["all sizes", "sizes fixed"])
@pytest.mark.parametrize("name", LIB.functions)
def test_the_gradient_of_a_look_up_has_the_bits_of_the_comparisons(name, fixed, monkeypatch):
    gradient, inputs = arguments(name, np.random.default_rng(0))
    sizes = {size: SIZES[size] for size in gradient.sizes} if fixed else {}
    text = str(lower_analysed(gradient._analysed, sizes, (), {}).schedule().lower())
    assert "== e" not in text.partition("with kernel:")[2]
    found = [gradient.compile(threads=threads, sizes=sizes)(**inputs).tobytes() for threads in (1, 2)]
    monkeypatch.setattr("ragged.tc.compiled.scatter_sums", lambda program: scatter_nothing(program))
    assert "== e" in str(lower_analysed(gradient._analysed, sizes, (), {}).schedule().lower())
    compared = gradient.compile(schedule=None, cache=False)(**inputs)
    assert found == [compared.tobytes()] * 2


def scatter_nothing(program):
    from ragged.ir.rewrite import Rewriter

    return Rewriter().finish(program, program)


def test_an_index_out_of_range_selects_nothing():
    gradient, inputs = arguments("lookup", np.random.default_rng(1))
    inputs["at"][:] = [[-1, 7, 0]] * 5
    rows = gradient(**inputs)
    assert not rows[1:].any()
    assert rows[0].any()


PROGRAM = """\
program("p")

N: call()
E: call()
rows: payload(int64[N])
x: payload(float32[N, E])
y: output(float32[E])

with kernel:
    for e in parallel(E):
        y[e] = {start}
        for n in serial({extent}):
            y[e] += {value}
"""


@pytest.mark.parametrize(
    ("start", "extent", "value"),
    [
        ("y[e] + 1.0", "N", "x[n, e] if rows[n] == e else 0.0"),
        ("0.0", "e", "x[n, e] if rows[n] == e else 0.0"),
        ("0.0", "N", "x[n, e] if rows[n] == e else 1.0"),
        ("0.0", "N", "x[n, e] if rows[e] == e else 0.0"),
        ("0.0", "N", "x[n, e] if rows[n] < e else 0.0"),
    ],
)
def test_other_sums_stay(start, extent, value):
    program = parse(PROGRAM.format(start=start, extent=extent, value=value))
    assert scatter_sums(program).program == program


NARROW = """\
program("p")

N: call()
E: call()
rows: payload(int64[N])
x: payload(int32[N, E])
total: workspace(int64[E])
y: output(int32[E])

with kernel:
    for e in parallel(E):
        total[e] = 0
        for n in serial(N):
            total[e] += int64(x[n, e]) if rows[n] == e else 0
        {after}
"""


def test_what_is_stored_after_the_sum_follows_all_terms():
    program = parse(NARROW.format(after="y[e] = int32(total[e]) + int32(e)"))
    scattered = scatter_sums(program).program
    verify(scattered)
    text = str(scattered)
    assert "== e" not in text and text.index("int32(total[e])") > text.index("total[rows[n]] =")
    random = np.random.default_rng(2)
    arrays = {"rows": random.integers(-1, 5, 30), "x": random.integers(-9, 9, (30, 4)).astype(np.int32)}
    got, want = (interpret(each, {"N": 30, "E": 4}, arrays)["y"] for each in (scattered, program))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "after", ["y[e] = int32(total[0])", "y[0] = int32(total[e])", "total[e] = 2 * total[e]"]
)
def test_what_is_stored_of_other_elements_stays(after):
    program = parse(NARROW.format(after=after).replace("parallel(E)", "serial(E)"))
    assert scatter_sums(program).program == program


@pytest.mark.parametrize("of", ["int32", "float32", "bfloat16"])
def test_counts_of_numbers_that_are_computed_wider_are_added_where_the_index_says(of):
    text = f"def f(int32(N) i, int K) -> ({of} h) {{ h(k) +=! (i(n) == k ? 1 : 0) where k in 0:K }}"
    hist = tc.define(text).f
    loops = hist.compile(threads=2).show("loops")
    assert "== k" not in loops
    index = np.random.default_rng(0).integers(0, 6, 200).astype(np.int32)
    np.testing.assert_array_equal(hist(index, 7).astype(np.int64), np.bincount(index, minlength=7))


PLANES = """\
program("p")

N: call()
E: call()
G: call()
D: call()
rows: payload(int64[N])
kind: payload(int64[N])
x: payload(float32[N, G, D])
y: output(float32[E, G, D])

with kernel:
    for e in parallel(E):
        for g in parallel(G):
            for d in parallel({columns}):
                y[e, g, d] = 0.0
                for n in serial(N):
                    for k in serial(2):
                        y[e, g, d] += x[n, g, d] if {condition} else 0.0
"""


@pytest.mark.parametrize("equal", ["rows[n] == e", "e == rows[n]"])
@pytest.mark.parametrize(
    "others",
    [
        "{}",
        "kind[n] < 2 and {}",
        "{} and kind[n] < 2 and k < kind[n]",
        "{} and g < 1",
        "d < 1 and {}",
        "{} and n < 3 and e < 2",
    ],
)
def test_terms_are_added_where_the_index_and_all_other_conditions_say(equal, others):
    old = parse(PLANES.format(columns="D", condition=others.format(equal)))
    new = scatter_sums(old).program
    verify(new)
    assert "min(D - d_o * 16, 16)" in str(new) and "for g in parallel(G)" in str(new)
    assert "for d_o in parallel((D + 15) // 16)" in str(new)
    random = np.random.default_rng(3)
    for count, columns in ((0, 3), (9, 1), (9, 16), (9, 17)):
        sizes = {"N": count, "E": 4, "G": 2, "D": columns}
        arrays = {
            "rows": random.integers(-1, 5, count),
            "kind": random.integers(0, 3, count),
            "x": random.standard_normal((count, 2, columns)).astype(np.float32),
        }
        want, got = (interpret(each, sizes, arrays)["y"] for each in (old, new))
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("columns", "condition"),
    [
        ("e + 1", "rows[n] == e"),
        ("D", "rows[n] == e + g"),
        ("D", "e < 2 and rows[n] == e"),
    ],
)
def test_other_planes_stay(columns, condition):
    program = parse(PLANES.format(columns=columns, condition=condition))
    assert scatter_sums(program).program == program


LOOK_UPS = """\
program("p")

N: call()
K: call()
E: call()
D: call()
at: payload(int64[N, K])
x: payload(float32[N, K, D])
start: payload(float32[N, E, D])
y: output(float32[N, E, D])

with kernel:
    for n in parallel(N):
        for e in parallel(E):
            for d in parallel(D):
                y[n, e, d] = {start}
                for k in serial(K):
                    y[n, e, d] += {value}
"""
"""Gradients of look-ups with indices of each row; `start` is the gradient of what was read before."""


@pytest.mark.parametrize("start", ["0.0", "start[n, e, d]"])
@pytest.mark.parametrize(
    ("value", "loops"),
    [
        ("x[n, k, d] if at[n, k] == e else 0.0", 1),  # one index for all columns
        ("x[n, k, d] if at[n, k] + n == e else 0.0", 1),
        ("x[n, k, d] if at[n, k] == d else 0.0", 1),  # the index is of the last dimension
        ("x[n, k, d] if at[n, k] == e and at[n, k] == d else 0.0", 1),
        ("x[n, k, d] if k == at[n, 0] else 0.0", 0),  # one term is left
        ("x[n, k, d] if k == at[n, 0] and at[n, k] < e else 0.0", 0),
        ("x[n, k, d] if k == e else 0.0", 0),
    ],
)
def test_indices_of_rows_select_terms(start, value, loops):
    old = parse(LOOK_UPS.format(start=start, value=value))
    new = scatter_sums(old).program
    verify(new)
    assert str(new).count("for k in") == loops and new != old
    random = np.random.default_rng(3)
    for count, few, columns in ((0, 3, 1), (3, 5, 2), (2, 4, 17), (3, 0, 4)):
        sizes = {"N": count, "K": few, "E": 4, "D": columns}
        arrays = {
            "at": random.integers(-1, 6, (count, few)),
            "x": random.standard_normal((count, few, columns)).astype(np.float32),
            "start": random.standard_normal((count, 4, columns)).astype(np.float32),
        }
        want, got = (interpret(each, sizes, arrays)["y"] for each in (old, new))
        np.testing.assert_array_equal(got, want)
