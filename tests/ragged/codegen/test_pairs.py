"""Pairs of bfloat16 in machine code: what the interpreter says, with the processor's own instruction and without it."""

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.target import Target, features_of, host_target
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Fma
from ragged.ir.ops import BinaryOp
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


@pytest.mark.parametrize("width", [None, 16])
def test_rounding_is_that_of_the_interpreter_for_all_kinds_of_floats(width):
    bits = np.concatenate(
        [np.arange(0, 2**32, 9_000_011, dtype=np.uint64), [0x7F7FFFFF, 0xFF800001, 0x3F808000, 0x3F818000]]
    )
    x = bits.astype(np.uint32).view(np.float32)
    check_both(elementwise(pair, result=DType.BFLOAT16X2, width=width), n=len(x), x=x, y=x[::-1].copy())


def test_the_processor_is_asked_for_its_instruction():
    program = elementwise(halves, dtype=F32, width=16)
    has = "avx512bf16" in features_of(host_target())
    assert ("vdpbf16ps" in compile_program(program).module.inspect_source("asm")) == has
    assert "vdpbf16ps" not in compile_program(program, WITHOUT).module.inspect_source("asm")
