"""Tiling sums of products: which are found, what they become, and that no bit changes."""

import re

import numpy as np
import pytest

from ragged.analysis.contractions import contractions
from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.tile_products import tile_products
from ragged.codegen.build import compile_program
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.ir.verify import verify
from ragged.machine import Machine, this_machine
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.schedule.loop_schedule import LoopSchedule
from tests.ragged.transform.programs import matvec, matvec_data

SMALL = Machine(vector_bytes=16, vector_registers=16, cores=1, l1_bytes=32 * 1024, l2_bytes=256 * 1024)

WIDE = Machine(vector_bytes=64, vector_registers=32, cores=1, l1_bytes=32 * 1024, l2_bytes=1024 * 1024)

MATMUL = """\
program("matmul")

count: input()
W: parameter(float32[{rows}, {inner}])
M: workspace(float32[count, {inner}, {columns}])
P: output(float32[count, {rows}, {columns}])

with kernel:
    for n in serial(count):
        for i in serial({rows}):
            for j in serial({columns}):
                P[n, i, j] = 0.0
                for k in serial({inner}):
                    P[n, i, j] += W[i, k] * M[n, k, j]
"""

GATES = """\
program("gates")

count: input()
U: parameter(float32[{gates}, {columns}, 3])
x: payload(float32[count, {rows}, 3])
y: output(float32[count, {rows}, {gates}, {columns}])

with kernel:
    for n in serial(count):
        for g in serial({gates}):
            for r in serial({rows}):
                for i in serial({columns}):
                    y[n, r, g, i] = 0.0
                    for k in serial(3):
                        y[n, r, g, i] += U[g, i, k] * x[n, r, k]
"""

MATRIX_OF_THE_NODE = """\
program("own_matrix")

count: input()
M: workspace(float32[count, {rows}, {inner}])
v: workspace(float32[count, {inner}])
y: output(float32[count, {rows}])

with kernel:
    for n in serial(count):
        for i in serial({rows}):
            y[n, i] = 0.0
            for k in serial({inner}):
                y[n, i] += M[n, i, k] * v[n, k]
"""


def tiled(text, machine=SMALL):
    schedule = LoopSchedule(parse(text))
    tile_products(schedule, machine)
    verify(schedule.program)
    return schedule


def check_same_bits(text, sizes, arrays, result, machine=SMALL):
    plain = parse(text)
    program = tiled(text, machine).program
    np.testing.assert_array_equal(
        interpret(program, sizes, arrays)[result], interpret(plain, sizes, arrays)[result]
    )
    rounded = fuse_multiply_add(plain).program
    np.testing.assert_array_equal(
        interpret(fuse_multiply_add(program).program, sizes, arrays)[result],
        interpret(rounded, sizes, arrays)[result],
    )


@pytest.mark.parametrize("machine", [SMALL, WIDE], ids=["4 lanes", "16 lanes"])
@pytest.mark.parametrize("out", [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33, 44, 75, 100, 125, 147])
def test_a_matrix_times_a_vector(out, machine):
    sizes, arrays = matvec_data(3, seed=out, hidden=3, out=out)
    check_same_bits(matvec(hidden=3, out=out), sizes, arrays, "y", machine)


SHORT = [3, 7, 10, 15, 27, 42, 75, 125, 150, 300]


@pytest.mark.parametrize("rows", [1, 2, 5, 6, 24])
@pytest.mark.parametrize("columns", SHORT)
def test_vectors_that_columns_do_not_fill_are_whole(columns, rows):
    text = GATES.format(gates=2, rows=rows, columns=columns)
    random = np.random.default_rng(rows)
    arrays = {
        "U": random.standard_normal((2, columns, 3)).astype(np.float32),
        "x": random.standard_normal((1, rows, 3)).astype(np.float32),
    }
    check_same_bits(text, {"count": 1}, arrays, "y", WIDE)
    printed = to_text(tiled(text, WIDE).program)
    assert "vectorized(min(" in printed and "U_packed[" in printed
    lanes = 16 if columns > 8 else 8 if columns > 4 else 4
    assert set(re.findall(r"vectorized\((\d+)\)", printed)) == {str(lanes)}


def test_sums_of_columns_that_are_not_there_stay_out_of_the_result():
    text = MATMUL.format(rows=2, columns=10, inner=3)
    arrays = {"W": np.full((2, 3), np.inf, np.float32), "M": np.ones((2, 3, 10), np.float32)}
    check_same_bits(text, {"count": 2}, arrays, "P", WIDE)


def test_masked_loads_where_the_processor_has_them():
    text = MATMUL.format(rows=2, columns=27, inner=3)
    assert "vectorized(min(" in to_text(tiled(text, WIDE).program)
    assert "vectorized(min(" not in to_text(tiled(text, SMALL).program)
    compiled = compile_program(fuse_multiply_add(tiled(text, this_machine()).program).program)
    random = np.random.default_rng(0)
    w, m = random.standard_normal((2, 3), np.float32), random.standard_normal((4, 3, 27), np.float32)
    given = {"count": 4, "W": w, "M": m, "P": np.zeros((4, 2, 27), np.float32)}
    compiled.call(StageKind.KERNEL, given)
    np.testing.assert_allclose(given["P"], w @ m, rtol=1e-5, atol=1e-6)


def test_other_types_have_narrower_vectors():
    text = (
        GATES.format(gates=2, rows=3, columns=75)
        .replace("float32", "float64")
        .replace("= 0.0", "= const(0.0, float64)")
    )
    printed = to_text(tiled(text, WIDE).program)
    assert "vectorized(8)" in printed and "vectorized(min(" not in printed


def test_pairs_are_packed_in_whole_vectors():
    text = GATES.format(gates=2, rows=3, columns=75)
    text = text.replace("U: parameter(float32", "U: parameter(bfloat16x2")
    text = text.replace("x: payload(float32", "x: payload(bfloat16x2")
    text = text.replace("U[g, i, k] * x[n, r, k]", "dot(U[g, i, k], x[n, r, k])")
    printed = to_text(tiled(text, WIDE).program)
    assert "vectorized(min(" in printed and "U_packed: bound(bfloat16x2" in printed


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 5), (3, 8), (4, 4), (4, 9), (6, 16), (8, 33)])
def test_a_matrix_times_a_matrix(rows, columns):
    random = np.random.default_rng(rows)
    arrays = {
        "W": random.standard_normal((rows, 3)).astype(np.float32),
        "M": random.standard_normal((2, 3, columns)).astype(np.float32),
    }
    check_same_bits(MATMUL.format(rows=rows, columns=columns, inner=3), {"count": 2}, arrays, "P")


@pytest.mark.parametrize(
    ("gates", "rows", "columns", "together"),
    [
        (3, 1, 4, True),
        (3, 2, 4, True),
        (2, 1, 12, True),
        (3, 1, 16, False),
        (3, 4, 8, False),
        (14, 1, 4, False),
    ],
    ids=["a vector", "two rows", "three vectors", "a whole tile's columns", "enough sums", "too many gates"],
)
def test_gates_of_few_sums_are_one_tile(gates, rows, columns, together):
    text = GATES.format(gates=gates, rows=rows, columns=columns)
    random = np.random.default_rng(rows)
    arrays = {
        "U": random.standard_normal((gates, columns, 3)).astype(np.float32),
        "x": random.standard_normal((2, rows, 3)).astype(np.float32),
    }
    check_same_bits(text, {"count": 2}, arrays, "y")
    printed = to_text(tiled(text).program)
    assert ("for g in serial" in printed) != together
    assert ("for g in unrolled" in printed) == together


@pytest.mark.parametrize("rows", [1, 2, 5, 8, 11])
def test_a_matrix_that_cannot_be_packed(rows):
    random = np.random.default_rng(rows)
    arrays = {
        "M": random.standard_normal((2, rows, 3)).astype(np.float32),
        "v": random.standard_normal((2, 3)).astype(np.float32),
    }
    check_same_bits(MATRIX_OF_THE_NODE.format(rows=rows, inner=3), {"count": 2}, arrays, "y")


@pytest.mark.parametrize("out", [5, 16, 44, 75, 125, 150])
def test_machine_code_agrees(out):
    text = matvec(hidden=7, out=out)
    sizes, arrays = matvec_data(4, seed=out, hidden=7, out=out)
    answers = []
    for program in (parse(text), DefaultSchedule(this_machine())(parse(text)).program):
        compiled = compile_program(fuse_multiply_add(program).program)
        given = {**sizes, **arrays, "t": np.zeros((4, out), np.float32), "y": np.zeros((4, out), np.float32)}
        given["U_packed"] = next(
            (
                np.zeros([int(extent.value) for extent in buffer.shape], np.float32)
                for buffer in compiled.program.buffers
                if buffer.name == "U_packed"
            ),
            None,
        )
        if StageKind.BIND in compiled.entries:
            compiled.call(StageKind.BIND, given)
        compiled.call(StageKind.KERNEL, {name: value for name, value in given.items() if value is not None})
        answers.append(given["y"])
    np.testing.assert_array_equal(*answers)


def test_the_text_of_a_tile(golden):
    schedule = tiled(matvec(hidden=6, out=40), WIDE)
    golden("matvec_40.txt", f"{schedule.program}\n{schedule.log()}\n")


def test_the_text_of_a_matrix_product(golden):
    schedule = tiled(MATMUL.format(rows=8, columns=32, inner=6), WIDE)
    golden("matmul_8_32.txt", f"{schedule.program}\n{schedule.log()}\n")


def test_the_log_is_the_schedule():
    from ragged.transform.loops.fission import fission
    from ragged.transform.loops.reorder import reorder
    from ragged.transform.loops.split import Tail, split
    from ragged.transform.loops.unroll import unroll
    from ragged.transform.mapping.vectorize import vectorize
    from ragged.transform.storage.cache_write import cache_write
    from ragged.transform.storage.pack import pack

    primitives = (cache_write, fission, pack, reorder, split, unroll, vectorize)
    text = matvec(hidden=6, out=40)
    first = tiled(text)
    again = LoopSchedule(parse(text))
    names = {"s": again, "Tail": Tail} | {primitive.__name__: primitive for primitive in primitives}
    exec(first.log(), names)
    assert str(again.program) == str(first.program)
    assert again.log() == first.log()


def test_what_is_found():
    (product,) = contractions(parse(matvec(hidden=6, out=8)))
    assert [loop.var.name for loop in product.outputs] == ["n", "i"] or [
        loop.var.name for loop in product.outputs
    ] == ["i"]
    assert product.vector is not None and product.vector.var.name == "i"
    assert product.packed is not None and product.packed[0].name == "U" and product.packed[1] == 0


def test_what_is_no_product_is_left_alone():
    for term in ("abs(U[i, j])", "max(v[n, j], 0.5)"):
        text = matvec(hidden=6, out=8).replace("U[i, j] * v[n, j]", term)
        assert list(contractions(parse(text))) == []
        assert tiled(text).log() == ""


@pytest.mark.parametrize("out", [7, 33, 75])
@pytest.mark.parametrize("kind", ["max", "sum"])
@pytest.mark.parametrize("term", ["U[i, j] + v[n, j]", "abs(U[i, j] - v[n, j])", "exp(U[i, j] - v[n, j])"])
def test_another_reduction_of_a_matrix_and_a_vector(term, kind, out):
    text = matvec(hidden=3, out=out)
    line = next(each for each in text.splitlines() if "U[i, j] * v[n, j]" in each)
    start = next(each for each in text.splitlines() if "= 0.0" in each)
    new = line.split("+=")[0] + f"= reduce({kind}, {term})"
    text = text.replace(line, new)
    if kind == "max":
        text = text.replace(start, start.replace("0.0", "-inf"))
    sizes, arrays = matvec_data(3, seed=out, hidden=3, out=out)
    assert "U_packed" in to_text(tiled(text, WIDE).program)
    check_same_bits(text, sizes, arrays, "y", WIDE)
