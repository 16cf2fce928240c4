"""Pairs of bfloat16 in machine code: what the interpreter says, with the processor's own instruction and without it."""

import numpy as np
import pytest

from ragged.analysis.row_pairs import pair_row
from ragged.codegen.build import compile_program, generate
from ragged.codegen.target import Target
from ragged.codegen.target_features import has_quick_pairs, host_target, parse_target
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Fma
from ragged.ir.index import index_of
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.stmt import Store
from ragged.ir.walk import statements
from tests.ragged.codegen.hand import F32, check_both, elementwise, op, run

WITHOUT = Target("llvm", tuple({**dict(host_target().settings), "mattr": ("-avx512bf16",)}.items()))


def pair(a, b):
    return Binary(BinaryOp.PAIR, a, b)


def halves(a, b):
    """fma((a, b), (b, a + b), a): both factors of the second product differ from those of the first."""
    return Fma(pair(a, b), pair(b, op("+", a, b)), a)


def floats(n=400):
    rng = np.random.default_rng(0)
    return (rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))).astype(np.float32)


@pytest.mark.parametrize("width", [None, 4, 5, 8, 16, 32])
@pytest.mark.parametrize("value", [halves, lambda a, b: Binary(BinaryOp.DOT, pair(a, b), pair(b, b))])
def test_products_of_pairs_are_those_of_the_interpreter(value, width):
    x, y = floats(), floats()[::-1].copy()
    program = elementwise(value, width=width)
    got = check_both(program, n=len(x), x=x, y=y)["out"]
    again = run(compile_program(program, WITHOUT), n=len(x), x=x, y=y)["out"]
    np.testing.assert_array_equal(got, again)


ROWS = """\
program("rows")

count: input()
x: payload(float32[count, 70])
y: output(bfloat16x2[count, 32])

with kernel:
    for n in serial(count):
        for j_o in serial({blocks}):
            for j_i in vectorized({lanes}):
                y[n, j_o * {lanes} + j_i] = pair(x[n, {index}], x[n, {index} + 1])
"""


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_pairs_of_a_row_are_those_of_the_interpreter_for_all_kinds_of_floats(lanes):
    program = parse(ROWS.format(lanes=lanes, blocks=32 // lanes, index=f"(j_o * {lanes} + j_i) * 2 + 3"))
    values = floats_of_all_kinds()
    x = np.resize(values, (len(values) // 70 + 1, 70))
    inner = [stmt for stmt in statements(program.stages[0].body) if isinstance(stmt, Store)]
    vector = next(var for var in index_of(program).loops if var.name == "j_i")
    assert pair_row(inner[0], vector) is not None
    check_both(program, count=len(x), x=x)


@pytest.mark.parametrize(
    "value",
    [
        "pair(x[n, (j_o * 4 + j_i) * 2], x[n, (j_o * 4 + j_i) * 2 + 2])",
        "pair(x[n, (j_o * 4 + j_i) * 2 + 1], x[n, (j_o * 4 + j_i) * 2])",
        "pair(x[n, j_o * 4 + j_i], x[n, j_o * 4 + j_i + 1])",
        "pair(x[min(j_i, count - 1), (j_o * 4 + j_i) * 2], x[min(j_i, count - 1), (j_o * 4 + j_i) * 2 + 1])",
    ],
)
def test_other_pairs_are_no_row(value):
    text = ROWS.format(lanes=4, blocks=8, index="j_i")
    program = parse(text[: text.index("pair(")] + value + "\n")
    inner = [stmt for stmt in statements(program.stages[0].body) if isinstance(stmt, Store)]
    vector = next(var for var in index_of(program).loops if var.name == "j_i")
    assert pair_row(inner[0], vector) is None
    check_both(program, count=3, x=np.resize(floats(), (3, 70)))


def floats_of_all_kinds():
    bits = np.concatenate(
        [np.arange(0, 2**32, 9_000_011, dtype=np.uint64), [0x7F7FFFFF, 0xFF800001, 0x3F808000, 0x3F818000]]
    )
    return bits.astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("width", [None, 16])
def test_rounding_is_that_of_the_interpreter_for_all_kinds_of_floats(width):
    x = floats_of_all_kinds()
    check_both(elementwise(pair, result=DType.BFLOAT16X2, width=width), n=len(x), x=x, y=x[::-1].copy())


def test_the_processor_is_asked_for_its_instruction():
    program = elementwise(halves, dtype=F32, width=16)
    has = has_quick_pairs(host_target())
    assert ("vdpbf16ps" in compile_program(program).module.inspect_source("asm")) == has
    assert "vdpbf16ps" not in compile_program(program, WITHOUT).module.inspect_source("asm")


@pytest.mark.parametrize(
    ("processor", "asked"),
    [
        ("znver4", True),
        ("cooperlake", True),
        *((name, False) for name in ("sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d")),
        ("znver3", False),
    ],
)
def test_a_processor_on_which_multiply_adds_are_quicker_is_not_asked(processor, asked):
    target = f"llvm -mcpu={processor}"
    assert has_quick_pairs(parse_target(target)) == asked
    code = generate(elementwise(halves, dtype=F32, width=16), target).module.inspect_source("asm")
    assert ("vdpbf16ps" in code) == asked
