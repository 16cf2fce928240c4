"""Reductions of prefixes are computed each from the one before, with the same bits."""

import numpy as np
import pytest

import ragged
from ragged import tc
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.passes.scan_prefixes import scan_prefixes

PROGRAM = """\
program("prefixes")

M: call()
N: call()
x: payload(float32[M, N])
z: payload(float32[M, N])
y: output(float32[M, N])

with kernel:
    for i in parallel(M):
        for j in parallel(N):
            y[i, j] = {init}
            for k in serial({extent}):
                y[i, j] {update}
"""
SUM = {"init": "0.0", "extent": "j + 1", "update": "+= x[i, k]"}


def prefixes(**changed: str) -> str:
    return PROGRAM.format(**{**SUM, **changed})


def kernel(text: str) -> str:
    return text.partition("with kernel:\n")[2]


def data():
    random = np.random.default_rng(0)
    for rows, columns in ((0, 3), (3, 0), (1, 1), (3, 7)):
        arrays = {name: random.standard_normal((rows, columns), np.float32) for name in "xz"}
        yield {"M": rows, "N": columns}, arrays


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ({}, "(y[i, j - 1] if 0 < j else 0.0) + x[i, j]"),
        ({"extent": "1 + j", "init": "2.0"}, "(y[i, j - 1] if 0 < j else 2.0) + x[i, j]"),
        ({"init": "x[i, 0]"}, "(y[i, j - 1] if 0 < j else x[i, 0]) + x[i, j]"),
        ({"extent": "i + 1", "update": "+= x[k, j]"}, "(y[i - 1, j] if 0 < i else 0.0) + x[i, j]"),
        (
            {"init": "-inf", "update": "= reduce(max, x[i, k], over=(k,), init=-inf)"},
            "max(y[i, j - 1] if 0 < j else -inf, x[i, j])",
        ),
        ({"update": "+= x[i, k] * z[i, k]"}, "fma(x[i, j], z[i, j], y[i, j - 1] if 0 < j else 0.0)"),
        ({"extent": "j"}, "y[i, j - 1] + x[i, j - 1] if 0 < j else 0.0"),
        ({"extent": "j - 2", "init": "x[i, 0]"}, "y[i, j - 1] + x[i, j - 3] if 2 < j else x[i, 0]"),
        (
            {"extent": "j", "update": "+= x[i, k] * z[i, k]"},
            "fma(x[i, j - 1], z[i, j - 1], y[i, j - 1]) if 0 < j else 0.0",
        ),
    ],
)
def test_each_is_computed_from_the_one_before(changed, value):
    program = parse(prefixes(**changed))
    new = scan_prefixes(program).program
    assert f"y[i, j] = {value}" in kernel(to_text(new))
    for sizes, arrays in data():
        if "extent" in changed and "i" in changed["extent"] and sizes["M"] > sizes["N"] > 0:
            continue
        want = interpret(program, sizes, arrays)["y"]
        got = interpret(new, sizes, arrays)["y"]
        np.testing.assert_allclose(got, want, rtol=1e-6)
        if "fma" not in value:  # the interpreter rounds a product of a sum by itself
            assert np.array_equal(got, want)


@pytest.mark.parametrize(
    "changed",
    [
        {"extent": "j + 2"},
        {"extent": "N - j"},
        {"extent": "i + j + 1"},
        {"update": "+= x[i, k] * z[i, j]"},  # what is summed is another for each prefix
        {"init": "x[i, j]"},
        {"init": "0.0\n            z[i, j] = 1.0"},
    ],
)
def test_what_is_no_sum_of_prefixes_is_left_as_it_is(changed):
    text = prefixes(**changed)
    if "z[i, j] =" in text:
        text = text.replace("z: payload", "z: workspace")
    program = parse(text)
    assert to_text(scan_prefixes(program).program) == to_text(program)


INNER = PROGRAM.replace(
    "                y[i, j] {update}",
    "                for d in serial({inner}):\n                    y[i, j] {update}",
)


@pytest.mark.parametrize("inner", ["3", "N", "min(k + 1, N)"])
def test_elements_of_a_prefix_may_be_reduced_themselves(inner):
    program = parse(INNER.format(**{**SUM, "update": "+= x[i, k] * z[i, d]"}, inner=inner))
    new = scan_prefixes(program).program
    assert "y[i, j] = y[i, j - 1] if 0 < j else 0.0" in to_text(new) and "for k in" not in to_text(new)
    for sizes, arrays in data():
        if sizes["N"] in (3, 7):
            want = interpret(program, sizes, arrays)["y"]
            assert np.array_equal(interpret(new, sizes, arrays)["y"], want)


@pytest.mark.parametrize("changed", [{"inner": "j + 1"}, {"extent": "j", "inner": "N"}])
def test_where_elements_depend_on_the_prefix_or_none_may_be_there_loops_stay(changed):
    program = parse(INNER.format(**{**SUM, "update": "+= x[i, k] * z[i, d]", **changed}))
    assert to_text(scan_prefixes(program).program) == to_text(program)


def test_a_loop_inside_that_depends_on_the_prefix_is_in_the_way():
    """The prefix before has no such element."""
    text = PROGRAM.format(**{**SUM, "extent": "i + 1", "update": "+= x[k, 0]"})
    program = parse(text.replace("j in parallel(N)", "j in parallel(min(N, i + 1))"))
    assert to_text(scan_prefixes(program).program) == to_text(program)


def test_what_is_summed_must_stay_while_the_prefixes_are_computed():
    text = prefixes().replace("x: payload", "x: workspace") + "            x[i, j]: other = 2.0\n"
    assert to_text(scan_prefixes(parse(text)).program) == to_text(parse(text))


def test_an_unrolled_loop_over_prefixes_stays_unrolled():
    program = parse(prefixes().replace("j in parallel(N)", "j in unrolled(4)"))
    new = kernel(to_text(scan_prefixes(program).program))
    assert "for j in unrolled(4)" in new and "if 0 < j else" in new


def test_a_buffer_that_something_else_writes_is_left_as_it_is():
    program = parse(prefixes() + "    for i in parallel(M):\n        y[i, 0]: other = 1.0\n")
    assert to_text(scan_prefixes(program).program) == to_text(program)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("combiner", ["sum", "max", "min"])
def test_cumulative_sums_of_ragged_rows(combiner, threads):
    batch, row, feature = ragged.dim("batch"), ragged.dim("row"), ragged.dim("feature")
    count = ragged.length_fn("n", over=batch)
    x = ragged.input_tensor(
        "x", [(batch, ragged.size("B")), (row, count(batch)), (feature, ragged.size("D"))]
    )
    reduce = getattr(ragged, combiner)
    tensor = ragged.compute("y", x.dims, lambda b, t, d: reduce(t + 1, lambda k: x[b, k, d]) * 2.0)
    function = ragged.compile(tensor, threads=threads)
    assert "if 0 < t else" in function.show("loops")
    random = np.random.default_rng(1)
    rows = [random.standard_normal((n, 19), np.float32) for n in (5, 0, 1, 40)]
    found = function(x=ragged.array(rows))
    plain = ragged.compile(tensor, threads=1, schedule=None)(x=ragged.array(rows))
    for got, other, own in zip(found, plain, rows, strict=True):
        assert np.array_equal(np.asarray(got), np.asarray(other))
        accumulate = {"sum": np.add, "max": np.maximum, "min": np.minimum}[combiner].accumulate
        np.testing.assert_allclose(np.asarray(got), 2 * accumulate(own, 0), rtol=1e-5, atol=1e-5)


def test_two_cumulative_sums_in_one_expression():
    batch, row = ragged.dim("batch"), ragged.dim("row")
    count = ragged.length_fn("n", over=batch)
    x = ragged.input_tensor("x", [(batch, ragged.size("B")), (row, count(batch))])
    tensor = ragged.compute(
        "y",
        x.dims,
        lambda b, t: ragged.sum(t + 1, lambda k: x[b, k]) * ragged.sum(t + 1, lambda k: abs(x[b, k])),
    )
    function = ragged.compile(tensor)
    assert function.show("loops").count("if 0 < t else") == 2
    rows = [np.random.default_rng(3).standard_normal(n).astype(np.float32) for n in (9, 0, 1)]
    for got, own in zip(function(x=ragged.array(rows)), rows, strict=True):
        np.testing.assert_allclose(got, own.cumsum() * np.abs(own).cumsum(), rtol=1e-5, atol=1e-5)


def test_columns_of_prefixes_are_shared_without_a_barrier():
    lib = tc.define("def cumsum(float(M,N) x) -> (y) { y(i,j) +=! x(k,j) where k in 0:i+1, i in 0:M }")
    function = lib.cumsum.compile(threads=2)
    assert "barrier" not in function.show("loops") and "in team(workers)" in function.show("loops")
    for shape in ((30, 200), (3, 64), (0, 5), (5, 0), (7, 1)):
        x = np.random.default_rng(4).standard_normal(shape, np.float32)
        np.testing.assert_allclose(function(x), x.cumsum(0), rtol=1e-4, atol=1e-4)


def test_cumulative_sums_of_tensor_comprehensions():
    lib = tc.define("def cumsum(float(M,N) x) -> (y) { y(i,j) +=! x(i,k) where k in 0:j+1, j in 0:N }")
    x = np.random.default_rng(2).standard_normal((5, 300), np.float32)
    assert "if 0 < j else" in lib.cumsum.compile(threads=2).show("loops")
    np.testing.assert_allclose(lib.cumsum.compile(threads=2)(x), x.cumsum(1), rtol=1e-4, atol=1e-4)
