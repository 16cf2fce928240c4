"""Tiles of float32 that are stored the other way round: what the interpreter says, by shuffles of vectors."""

import numpy as np
import pytest

from ragged.analysis.transposed_tiles import transposed_tile
from ragged.codegen.build import compile_program
from ragged.ir.index import index_of
from ragged.ir.parser import parse
from ragged.transform.locate import the_loop
from tests.ragged.codegen.hand import check_both

SQUARE = """\
program("square")

count: input()
x: payload(float32[count, {across}, 70])
y: output(float32[count, 40, {columns}])

with kernel:
    for n in serial(count):
        for a in serial(40):
            for b in serial({columns}):
                y[n, a, b] = 0.0
        for i in {kind}({side}):
            for j in vectorized({across}):
                y[n, {out}] = x[n, {rows}]
"""


def square(side, *, across=None, kind="serial", out="i * 2 + 1, j + 3", rows="j, i + 5", columns=24):
    across = across or side
    text = SQUARE.format(side=side, across=across, kind=kind, out=out, rows=rows, columns=columns)
    return parse(text)


def found(program):
    (var,) = (var for var in index_of(program).loops if var.name == "i")
    return transposed_tile(the_loop(program, var, "the test"))


@pytest.mark.parametrize("kind", ["serial", "unrolled"])
@pytest.mark.parametrize("side", [4, 8, 16])
def test_any_bits_are_where_the_interpreter_puts_them(side, kind):
    program = square(side, kind=kind)
    assert (found(program).lanes, found(program).columns) == (side, side)
    rng = np.random.default_rng(side)
    bits = rng.integers(0, 2**32, (3, side, 70), np.uint32)  # quiet and signalling NaN among them
    check_both(program, count=3, x=bits.view(np.float32))


@pytest.mark.parametrize("side", [4, 8, 16])
@pytest.mark.parametrize("across", range(2, 17))
def test_any_number_of_rows(side, across):
    program = square(side, across=across)
    assert (found(program).lanes, found(program).columns) == (side, across)
    x = np.random.default_rng(across).standard_normal((2, across, 70), np.float32)
    check_both(program, count=2, x=x)


PART = """\
program("part")

N: call()
x: payload(float32[{across}, {side}])
y: output(float32[{side}, 20])

with kernel:
    for a in serial({side}):
        for b in serial(20):
            y[a, b] = 7.0
    held = local(float32[{across}, {side}])
    for a in serial({across}):
        for b in vectorized({side}):
            held[a, b] = x[a, b]
    for i in serial(min(N - 2, {side})):
        for j in vectorized({across}):
            y[i, j + 3] = held[j, i]
"""


@pytest.mark.parametrize("side", [4, 8, 16])
@pytest.mark.parametrize("across", [2, 6, 12, 16])
def test_as_many_columns_are_stored_as_there_are(side, across):
    program = parse(PART.format(side=side, across=across))
    assert found(program) is not None
    x = np.random.default_rng(across).standard_normal((across, side), np.float32)
    for count in (0, 2, 3, side + 1, side + 2, side + 3, 2**40):
        check_both(program, N=count, x=x)


def test_part_of_a_row_is_read_alone_where_the_rest_may_not_be_there():
    given = PART.format(side=8, across=4).replace("= held[", "= x[")
    assert found(parse(given)) is None
    shorter = given.replace("min(N - 2, 8)", "min(N - 2, 7)")
    assert found(parse(shorter)) is None


def test_no_element_is_moved_by_itself():
    code = compile_program(square(16)).module.inspect_source("asm")
    assert "vpermt2p" in code or "vshuf" in code or "trn1" in code
    assert "vmovss" not in code


@pytest.mark.parametrize(
    "other",
    [
        {"out": "j, i"},
        {"rows": "i, j"},
        {"out": "i * 2 + 1, j * 2", "columns": 40},
        {"rows": "j, i * 2"},
        {"rows": "0, i"},
        {"out": "0, i + j", "columns": 32},
        {"rows": "min(j, count), i"},
        {"out": "max(i, count - count), j"},
    ],
)
def test_other_nests_are_no_square(other):
    program = square(16, **other)
    assert found(program) is None
    check_both(program, count=2, x=np.arange(2 * 16 * 70, dtype=np.float32).reshape(2, 16, 70))


def test_rows_are_vectors_and_few():
    assert found(square(5)) is None
    assert found(square(12)) is None
    assert found(square(16, across=17, columns=40)) is None
    assert found(square(8, across=1)) is None


def test_a_buffer_is_not_transposed_onto_itself():
    text = """\
program("self")

y: output(float32[16, 32])

with kernel:
    for i in serial(16):
        for j in vectorized(16):
            y[i, j] = y[j, i + 16]
"""
    assert found(parse(text)) is None
