"""CUDA C++ of programs: each construct's text, what it does on random programs, and refusals.

What it does is asked of the host: its threads run the source behind a stand-in for the driver.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from ragged.codegen.build import compile_program
from ragged.codegen.cuda.kernel import CudaKernel, cuda_kernel
from ragged.codegen.cuda.nvcc import cubin
from ragged.compiled.generate import without_kernel
from ragged.errors import ScheduleError
from ragged.ir.expr import Const, Role, Var
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter
from ragged.ir.stmt import Block, Check, For, LoopKind, Stmt
from ragged.runtime.call import bind
from ragged.runtime.cuda import caller
from ragged.runtime.cuda.launch import Launch
from tests.ragged.ir.strategies import Case, cases
from tests.support.device import standin


class WithoutChecks(Rewriter):
    """Takes out the checks, which all hold: no kernel for a GPU has any."""

    def stmt(self, stmt: Stmt) -> Stmt:
        return Block() if isinstance(stmt, Check) else super().stmt(stmt)


def one_thread(program: Program) -> Program:
    """Return a program with a kernel that one thread runs."""
    kernel = WithoutChecks().stmt(program.kernel)
    grid = For(Var("w"), Const(1), For(Var("t"), Const(1), kernel, LoopKind.THREADS), LoopKind.TEAM)
    stages = (replace(s, body=grid) if s.kind is StageKind.KERNEL else s for s in program.stages)
    return replace(program, stages=tuple(stages))


def run(case: Case, kernel: CudaKernel, folder: Path) -> dict[str, np.ndarray]:
    """Run a case's kernel behind the stand-in, and its other stages as they always are."""
    compiled = compile_program(without_kernel(case.program))
    given = {**case.sizes, **case.arrays}
    stored = {a.name: _stored(a.symbol, given[a.name]) for a in compiled.signature if a.name in given}
    bound = bind(compiled.entries, stored)
    kept = {name: bound[name] for name in bound if name not in case.sizes}
    launch = Launch(kernel.name, kernel.blocks, kernel.threads, kernel.shared_bytes, "sm_90")
    device, library = standin(kernel.source, kernel.name, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caller, "the_driver", lambda: device)
        results = caller.CudaCaller(compiled.entries, kept, launch, b"\x7fELF")(case.sizes)
    assert library.standin_launches() == 1
    return results


def _stored(symbol, value):
    order = getattr(symbol, "order", ())
    return value.transpose(order) if isinstance(value, np.ndarray) and order else value


@settings(
    max_examples=12,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@given(cases(teams=False))
def test_the_source_does_what_the_interpreter_does(case):
    try:
        without_kernel(case.program)
    except ScheduleError:
        hypothesis.reject()
    expected = interpret(case.program, case.sizes, case.arrays)
    with tempfile.TemporaryDirectory() as folder:
        got = run(case, cuda_kernel(one_thread(case.program)), Path(folder))
    for buffer in case.program.buffers:
        if buffer.role is not Role.OUTPUT or buffer.aliases is not None:
            continue
        want = expected[buffer.name]
        if buffer.dtype.is_float:
            np.testing.assert_allclose(got[buffer.name], want, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(got[buffer.name], want)


CONSTRUCTS = """\
program("constructs")

n: call()
scale: call()
next: input(i < n)
half: expression(i < n, next(i) // 2)
w: parameter(float32[4, 6], order=(1, 0))
x: payload(float32[n])
new: output(float32[n])
count: output(int64[n])
wide: workspace(float64[n, 3])
flat: workspace(float64[n, 3], aliases=wide)

with kernel:
    for b in team(3):
        chip = local(float32[2, 2], scope=shared)
        again = local(float32[5], scope=shared)
        for t in threads(8):
            chip[t % 2, t // 4] = w[t // 2, 5]
            barrier(block)
            for r in serial(scale):
                barrier(team)
                for i in parallel(n // 3):
                    at = i * 3 + b
                    mine = local(float32[()], scope=register)
                    mine[()] = fma(x[at], chip[0, 1], -0.5)
                    for k in unrolled(4):
                        mine[()]: more = reduce(max, tanh(x[at]) * abs(x[at]) - sigmoid(0.1), init=mine[()])
                    if x[at] > 0.0 and not next(at) == 3:
                        new[at] = mine[()] if x[at] != x[at] else inf
                    else:
                        new[at]: new.other = sqrt(exp(log(min(x[at], nan))))
                    count[at] = half(at) % 7 // 4 + int64(x[at]) * -3000000000
                    wide[at, 2] = const(0.1, float64) / float64(x[at])
                    flat[at, 1] = flat[at, 2]
"""
"""Every construct that the source has a text of its own for."""


def test_text(golden):
    kernel = cuda_kernel(parse(CONSTRUCTS))
    assert (kernel.blocks, kernel.threads, kernel.shared_bytes) == (3, 8, 36)
    golden("cuda.txt", kernel.source)
    assert cubin(kernel.source, "sm_90").startswith(b"\x7fELF")


def refusal(text: str) -> str:
    with pytest.raises(ScheduleError) as error:
        cuda_kernel(parse(text))
    return str(error.value)


def test_programs_that_are_no_grid_are_refused():
    what, fix = (
        "cuda: the kernel is not one of blocks of threads",
        "distribute_over_blocks, then distribute_over_threads",
    )
    for old, new in (("team(3)", "serial(3)"), ("team(3)", "team(n)")):
        assert refusal(CONSTRUCTS.replace(old, new)) == (
            f"{what}\n  because: it is no loop over a team of a constant number\n  fix: {fix}"
        )
    assert refusal(CONSTRUCTS.replace("threads(8)", "serial(8)")) == (
        f"{what}\n  because: in the loop over blocks stands more than one over threads\n  fix: {fix}"
    )


def test_a_check_in_the_kernel_is_refused():
    text = CONSTRUCTS.replace(
        "at = i * 3 + b\n", 'at = i * 3 + b\n                    check(at < n, "", label=bound)\n'
    )
    assert refusal(text) == (
        "check 'bound' stays in the kernel, where no thread of a GPU can end it\n"
        "  at <program>:25\n"
        "  because: its condition is not proven, and the other blocks would wait at their next barrier\n"
        '  fix: facts that prove it (`fn.show("checks")` says which are), or target="cpu"'
    )


def test_a_local_buffer_without_a_constant_size_is_refused():
    assert refusal(
        CONSTRUCTS.replace("local(float32[()], scope=register)", "local(float32[n])").replace("[()]", "[0]")
    ) == ("local buffer 'mine' has no constant size\n  fix: a workspace that the program declares")


def test_a_prelude_that_fills_arrays_is_refused():
    text = CONSTRUCTS.replace("with kernel:", "with prelude:\n    wide[0, 0] = 0.0\n\nwith kernel:").replace(
        "0.0\n\n", "const(0.0, float64)\n\n"
    )
    with pytest.raises(ScheduleError) as error:
        without_kernel(parse(text))
    assert str(error.value) == (
        "compile: the prelude of 'constructs' fills 'wide'\n"
        "  because: a prelude runs on the host, and what it fills is not copied to a GPU\n"
        "  fix: target='cpu', or leave the work in the kernel"
    )
