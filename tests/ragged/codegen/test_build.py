"""What a compiled program tells of itself."""

from __future__ import annotations

import contextlib
from ctypes import c_void_p

import numpy as np
import pytest
import tvm_ffi

from ragged.codegen.build import compile_program, generate
from ragged.codegen.elf import defined_symbols, undefined_symbols
from ragged.codegen.entry import ArgumentKind
from ragged.codegen.link import link
from ragged.errors import DataError, InternalError
from ragged.ir.expr import Const, Role, Var
from ragged.ir.program import StageKind
from tests.ragged.codegen.hand import (
    F32,
    I32,
    I64,
    at,
    buffer,
    call,
    elementwise,
    loop,
    op,
    output,
    program,
    size,
    store,
    table,
)

MATHS = {"exp", "log", "tanh", "expf", "logf", "tanhf"}
RUNTIME = {"memcpy", "memset"}


def everything():
    """A program with a size, an array, two buffers of one name and an alias."""
    n, i = size("n"), Var("i")
    word, x = table("word", n), buffer("x", n, 4, order=(1, 0), align=16)
    other, out = buffer("x", 3), output("out", n)
    view = buffer("view", n, role=Role.OUTPUT, aliases=out)
    return program(
        loop(i, n, store(view, (i,), op("*", at(x, i, 2), at(other, at(word, i))))),
        n,
        word,
        x,
        other,
        out,
        view,
    )


def test_the_signature():
    compiled = compile_program(everything())
    kinds = [(a.name, a.kind, a.dtype, len(a.shape), a.align) for a in compiled.signature]
    assert kinds == [
        ("n", ArgumentKind.SIZE, I64, 0, 1),
        ("word", ArgumentKind.ARRAY, I32, 1, 4),
        ("x", ArgumentKind.BUFFER, F32, 2, 16),
        ("x_1", ArgumentKind.BUFFER, F32, 1, 64),
        ("out", ArgumentKind.BUFFER, F32, 1, 4),
    ]
    assert compiled.signature[2].shape[0] == Const(4)
    assert compiled.entry(StageKind.KERNEL).arguments == compiled.signature


def test_a_stage_that_is_not_there():
    with pytest.raises(InternalError, match="program 'p' has no stage 'prelude'"):
        compile_program(everything()).tir(StageKind.PRELUDE)


def test_a_slow_call_checks_its_arrays():
    compiled = compile_program(elementwise(lambda a, b: op("+", a, b)))
    x, out = np.ones(4, np.float32), np.empty(4, np.float32)
    compiled.call(StageKind.KERNEL, {"n": 4, "x": x, "y": x, "out": out})
    assert out.tolist() == [2.0] * 4
    with pytest.raises(DataError) as wrong:
        compiled.call(StageKind.KERNEL, {"n": 4, "x": np.ones(4), "y": x, "out": out})
    assert str(wrong.value) == "'x': float32 array expected, not float64 array"
    with pytest.raises(DataError) as strided:
        compiled.call(StageKind.KERNEL, {"n": 4, "x": np.ones(8, np.float32)[::2], "y": x, "out": out})
    assert str(strided.value) == "'x': its array is not C-contiguous\n  fix: numpy.ascontiguousarray"
    odd = np.frombuffer(bytes(17), np.uint8)[1:].view(np.float32)
    with pytest.raises(DataError, match="'x': its array does not begin at a multiple of an element"):
        compiled.call(StageKind.KERNEL, {"n": 4, "x": odd, "y": x, "out": out})


def test_generated_code_calls_no_library_but_libm():
    kernel = everything()
    assert compile_program(kernel).undefined_symbols() <= RUNTIME
    maths = elementwise(lambda a, b: call("log", call("tanh", call("sigmoid", call("exp", op("/", a, b))))))
    assert compile_program(maths).undefined_symbols() <= RUNTIME | MATHS


def test_a_linked_library_is_called_without_the_compiler(tmp_path):
    made = generate(elementwise(lambda a, b: call("tanh", op("*", a, b))))
    code = link(made.object_code())
    assert code is not None
    path = tmp_path / "stages.so"
    path.write_bytes(code)
    x, out = np.linspace(-2, 2, 9, dtype=np.float32), np.empty(9, np.float32)
    pointers = [c_void_p(array.ctypes.data) for array in (x, x, out, np.zeros(4, np.int64))]
    tvm_ffi.load_module(str(path)).get_function("p_kernel")(9, *pointers, 0, 1)
    np.testing.assert_allclose(out, np.tanh(x * x), rtol=1e-6)
    assert undefined_symbols(code) <= RUNTIME | MATHS
    assert defined_symbols(code) >= {made.interface().stages[0].function}


def test_what_is_not_elf():
    with pytest.raises(InternalError, match="not a 64-bit little-endian ELF file"):
        undefined_symbols(b"#!/bin/sh")
    code = link(generate(everything()).object_code())
    assert code is not None
    for end in range(0, len(code), 997):
        with contextlib.suppress(InternalError):  # and nothing else, wherever it ends
            defined_symbols(code[:end])


def test_tir_keeps_the_names_of_the_program():
    compiled = compile_program(everything())
    text = compiled.tir(StageKind.KERNEL)
    assert "def p_kernel(n: T.int64" in text
    assert "T.ragged.mul(" in text
    asm = compiled.asm(StageKind.KERNEL)
    assert asm.startswith("p_kernel_compute_:\n")
    assert "retq" in asm
