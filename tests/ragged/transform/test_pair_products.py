"""pair_products: both factors rounded to bfloat16, and two products summed up at a time."""

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.runtime.call import Caller, bind
from ragged.transform.code.pair_products import pair_products
from ragged.transform.storage.pack import pack
from tests.ragged.transform.data_support import valid
from tests.ragged.transform.support import body, label, refused

_CELL = """\
program("cell")

count: input()
W: parameter(float32[{columns}, {width}])
U: parameter(float32[{columns}, {other}])
x: payload(float32[count, {longer}])
a: workspace(float32[count, {columns}])
b: workspace(float32[count, {columns}])
y: output(float32[count, {columns}])

with kernel:
    for n in parallel(count):
        for i in serial({columns}):
            a[n, i]: a.init = 0.0
            for j in serial({width}):
                a[n, i] += W[i, j] * x[n, j]
        for i in serial({columns}):
            b[n, i]: b.init = 0.0
            for j in serial({other}):
                b[n, i] += x[n, j] * U[i, j]
        for i in serial({columns}):
            y[n, i] = a[n, i] - b[n, i]
"""
MATRICES = """\
program("matrices")

count: input()
W: parameter(float32[4, 10])
M: payload(float32[count, 5, 3])
y: output(float32[count, 4, 3])

with kernel:
    for n in parallel(count):
        for i in serial(4):
            for r in serial(3):
                y[n, i, r]: y.init = 0.0
                for k in serial(5):
                    y[n, i, r] += W[i, k + 5] * M[n, k, r]
"""


def cell(width, other=None, columns=5):
    """Return the text of two sums of products with x, of `width` and of `other` as many terms, or as many."""
    other = other or width
    return _CELL.format(width=width, other=other, longer=max(width, other), columns=columns)


GATES = ("a", "b")


def rounded(values):
    """Return float32 values rounded to the nearest bfloat16, ties to even, by the definition: in float64."""
    exponent = np.floor(np.log2(np.abs(np.where(values == 0, 1, values)).astype(np.float64)))
    unit = np.exp2(exponent - 7)
    return np.round(values.astype(np.float64) / unit) * unit


def labels(program, names=GATES):
    return tuple(label(program, name) for name in names)


def drawn(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def cell_data(width, count=3):
    rng = np.random.default_rng(width)
    return {"count": count}, {
        "W": drawn(rng, 5, width),
        "U": drawn(rng, 5, width),
        "x": drawn(rng, count, width),
    }


def test_text(golden):
    program = parse(cell(6))
    new = valid(pair_products, program, labels(program)).program
    golden("pair_products.txt", f"{program}\npair_products(a, b)\n\n{new}")


@pytest.mark.parametrize("width", [1, 2, 5, 6])
def test_factors_are_rounded_and_sums_are_not(width):
    program = parse(cell(width))
    new = valid(pair_products, program, labels(program)).program
    sizes, arrays = cell_data(width)
    W, U, x = (rounded(arrays[name]) for name in ("W", "U", "x"))
    for each in (new, fuse_multiply_add(new).program):
        got = interpret(each, sizes, arrays)["y"]
        np.testing.assert_allclose(got, x @ W.T - x @ U.T, rtol=0, atol=1e-5)
    assert not np.allclose(interpret(program, sizes, arrays)["y"], got, rtol=0, atol=1e-5)


@pytest.mark.parametrize("multiple", [1, 2, 4])
@pytest.mark.parametrize("width", [4, 6, 16, 33])
def test_whole_tiles_of_pairs_and_columns_change_no_bit(width, multiple):
    program = parse(cell(width))
    plain = pair_products(program, labels(program)).program
    new = valid(pair_products, program, labels(program), multiple).program
    pairs, columns = -(-width // (2 * multiple)) * multiple, {1: 5, 2: 6, 4: 8}[multiple]
    assert all(f"{name}_pairs: bound(bfloat16x2[{columns}, {pairs}])" in str(new) for name in "WU")
    sizes, arrays = cell_data(width)
    np.testing.assert_array_equal(interpret(new, sizes, arrays)["y"], interpret(plain, sizes, arrays)["y"])


@pytest.mark.parametrize("multiple", [1, 4])
@pytest.mark.parametrize(("one", "other"), [(6, 8), (8, 6), (15, 16), (12, 40)])
def test_sums_of_other_lengths_have_other_pairs(one, other, multiple):
    program = parse(cell(one, other))
    new = valid(pair_products, program, labels(program), multiple).program
    rng = np.random.default_rng(one)
    arrays = {"W": drawn(rng, 5, one), "U": drawn(rng, 5, other), "x": drawn(rng, 3, max(one, other))}
    W, U, x = (rounded(arrays[name]) for name in ("W", "U", "x"))
    got = interpret(new, {"count": 3}, arrays)["y"]
    np.testing.assert_allclose(got, x[:, :one] @ W.T - x[:, :other] @ U.T, rtol=0, atol=1e-5)


def test_a_loop_that_reads_by_columns_is_as_long_as_it_was():
    text = cell(6).replace("a[n, i]: a.init = 0.0", "a[n, i]: a.init = c[i]")
    text = text.replace("x: payload", "c: parameter(float32[5])\nx: payload")
    text = text.replace("a[n, i] += W[i, j] * x[n, j]", "a[n, i] = reduce(sum, W[i, j] * x[n, j], init=c[i])")
    program = parse(text)
    new = valid(pair_products, program, labels(program), 4).program
    assert "W_pairs: bound(bfloat16x2[5, 4])" in str(new) and "U_pairs: bound(bfloat16x2[8, 4])" in str(new)
    sizes, arrays = cell_data(6)
    arrays["c"] = drawn(np.random.default_rng(0), 5)
    plain = pair_products(program, labels(program)).program
    np.testing.assert_array_equal(interpret(new, sizes, arrays)["y"], interpret(plain, sizes, arrays)["y"])


def test_columns_of_a_result_or_of_several_dimensions_are_as_many_as_they_were():
    program = parse(MATRICES)
    new = valid(pair_products, program, labels(program, ("y",)), 4).program
    assert "W_pairs: bound(bfloat16x2[4, 4])" in str(new) and "y: output(float32[count, 4, 3])" in str(new)


@pytest.mark.parametrize(("columns", "whole"), [(7, 8), (9, 12), (17, 24), (26, 32), (33, 40), (51, 64)])
def test_how_many_columns_are_whole_tiles(columns, whole):
    program = parse(cell(8, columns=columns))
    text = str(pair_products(program, labels(program), 4).program)
    assert f"W_pairs: bound(bfloat16x2[{whole}, 4])" in text
    assert f"a: workspace(float32[count, {whole}])" in text


@pytest.mark.parametrize("width", [5, 6, 33])
def test_machine_code_is_the_interpreter(width):
    program = parse(cell(width))
    new = fuse_multiply_add(pair_products(program, labels(program)).program).program
    sizes, arrays = cell_data(width)
    entries = compile_program(new).entries
    bound = bind(entries, {name: arrays[name] for name in ("W", "U")})
    kernel = next(entry for kind, entry in entries.items() if kind.value == "kernel")
    got = Caller([kernel], bound)({**sizes, "x": arrays["x"]})["y"]
    np.testing.assert_array_equal(got, interpret(new, sizes, arrays)["y"])


def test_pairs_are_packed_in_blocks_that_do_not_fill_up():
    program = parse(cell(6))
    pairs = pair_products(program, labels(program)).program
    table = next(each for each in pairs.buffers if each.name == "W_pairs")
    packed = valid(pack, pairs, table, "W_packed", ((0, 3),), (0, 2, 1), multiple=4).program
    assert "else pair(0.0, 0.0)" in str(packed)
    sizes, arrays = cell_data(6)
    want = interpret(pairs, sizes, arrays)["y"]
    np.testing.assert_array_equal(interpret(packed, sizes, arrays)["y"], want)
    entries = compile_program(packed).entries
    bound = bind(entries, {name: arrays[name] for name in ("W", "U")})
    kernel = next(entry for kind, entry in entries.items() if kind.value == "kernel")
    got = Caller([kernel], bound)({**sizes, "x": arrays["x"]})["y"]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)


def test_products_of_one_thing_share_its_pairs():
    program = parse(cell(6))
    new = valid(pair_products, program, labels(program)).program
    assert body(new).count("= pair(") == 1
    assert body(valid(pair_products, program, labels(program)[:1]).program).count("dot(") == 1


def test_what_changes_in_between_is_paired_again():
    text = cell(5).replace("x: payload", "x: workspace")
    start = "            x[n, {0}]: x.start = 1.0\n"
    first, second = (
        f"        for j in serial(5):\n{start.format('j')}".replace("1.0", v) for v in ("1.0", "2.0")
    )
    head, one, two = text.partition("        for i in serial(5):\n            a[n")
    two, three, four = (one + two).partition("        for i in serial(5):\n            b[n")
    program = parse(head + first + two + second.replace("x.start", "x.again") + three + four)
    new = valid(pair_products, program, labels(program)).program
    assert body(new).count("= pair(") == 2
    sizes, arrays = cell_data(5)
    arrays.pop("x")
    want = rounded(arrays["W"]).sum(1) - 2 * rounded(arrays["U"]).sum(1)
    np.testing.assert_allclose(interpret(new, sizes, arrays)["y"], np.tile(want, (3, 1)), rtol=0, atol=1e-5)


def test_a_part_of_a_parameter_times_matrices():
    program = parse(MATRICES)
    new = valid(pair_products, program, labels(program, ("y",))).program
    assert "W_pairs: bound(bfloat16x2[4, 3])" in str(new)
    assert "M_pairs[n, k, r] = pair(M[n, k * 2, r], M[n, k * 2 + 1, r] if k * 2 + 1 < 5 else 0.0)" in str(new)
    rng = np.random.default_rng(0)
    arrays = {"W": drawn(rng, 4, 10), "M": drawn(rng, 2, 5, 3)}
    want = np.einsum("ik,nkr->nir", rounded(arrays["W"])[:, 5:], rounded(arrays["M"]))
    np.testing.assert_allclose(interpret(new, {"count": 2}, arrays)["y"], want, rtol=0, atol=1e-5)


def test_products_of_two_things_have_pairs_of_their_own():
    text = cell(5).replace("x[n, j] * U", "z[n, j] * U")
    program = parse(text.replace("x: payload", "z: payload(float32[count, 5])\nx: payload"))
    new = valid(pair_products, program, labels(program)).program
    sizes, arrays = cell_data(5)
    arrays["z"] = arrays["x"][::-1].copy()
    W, U, x, z = (rounded(arrays[name]) for name in ("W", "U", "x", "z"))
    got = interpret(new, sizes, arrays)["y"]
    np.testing.assert_allclose(got, x @ W.T - z @ U.T, rtol=0, atol=1e-5)


def test_two_parts_of_one_parameter_have_pairs_of_their_own():
    text = cell(5).replace("U[i, j]", "W[i, j + 5]")
    program = parse(text.replace("W: parameter(float32[5, 5])", "W: parameter(float32[5, 10])"))
    new = valid(pair_products, program, labels(program)).program
    rng = np.random.default_rng(0)
    arrays = {"W": drawn(rng, 5, 10), "U": drawn(rng, 5, 5), "x": drawn(rng, 3, 5)}
    W, x = rounded(arrays["W"]), rounded(arrays["x"])
    got = interpret(new, {"count": 3}, arrays)["y"]
    np.testing.assert_allclose(got, x @ W[:, :5].T - x @ W[:, 5:].T, rtol=0, atol=1e-5)


SUM = "y[n, i, r] += W[i, k + 5] * M[n, k, r]"


@pytest.mark.parametrize(
    ("old", "new", "because"),
    [
        (SUM, "y[n, i, r] += W[i, k + 5]", "no sum of products"),
        (SUM, "y[n, i, r] = max(y[n, i, r], W[i, k + 5] * M[n, k, r])", "no sum of products"),
        (SUM, "y[n, i, r] += M[n, k, i] * M[n, k, r]", "neither factor"),
        (SUM, "y[n, i, r] += W[i, k * 2] * M[n, k, r]", "neither factor"),
        (SUM, "y[n, i, r] += W[k, k] * M[n, k, r]", "neither factor"),
        (SUM, "y[n, i, r] += W[i, k] * W[i, 0]", "neither factor"),
        (SUM, "y[n, i, r] += W[i, k] * y[n, k % 4, r]", "it reads what it adds to"),
        (
            SUM,
            f'check(k < 5, "k is {{0}}", k, label=c)\n{" " * 20}{SUM}',
            "something else stands in the loop 'k'",
        ),
        (SUM, f"if k < 3: {SUM}", "something else stands in the loop 'k'"),
        ("serial(5)", "serial(count)", "a constant number of times"),
        ("y[n, i, r]", "y[n, i, 2 - r]", "not indexed by loops"),
    ],
)
def test_refusals(old, new, because):
    assert old in MATRICES
    program = parse(MATRICES.replace(old, new))
    message = refused(pair_products, program, labels(program, ("y",)))
    assert "pair_products: 'y' cannot be summed in pairs" in message
    assert because in message and "fix: leave it in float32" in message
