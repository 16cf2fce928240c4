"""prefetch: what a statement reads some iterations later is asked for; no result changes."""

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.cuda.kernel import cuda_kernel
from ragged.ir.expr import Binary, Call, Const, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.transform.code.prefetch import prefetch
from ragged.transform.mapping.vectorize import vectorize
from tests.ragged.codegen.test_cuda import one_thread
from tests.ragged.transform.support import (
    accepted,
    body,
    check_same,
    check_same_compiled,
    label,
    loop,
    refused,
)

CONVOLUTION = """\
program("convolution")

rows: input()
taps: input()
x: payload(float32[rows, 5, 6, 34])
k: parameter(float32[5, 3])
y: output(float32[rows, 4, 32])
copied: workspace(float32[rows, 5, 6, 34])

with kernel:
    for n in serial(rows):
        for h in serial(4):
            for w in serial(32):
                y[n, h, w]: start = 0.0
            for c in serial(5):
                for p in serial(3):
                    for q in serial(min(taps, 3)):
                        for v in serial(32):
                            y[n, h, v] += x[n, c, h + p, v + q] * k[c, p]
"""


def data():
    draw = np.random.default_rng(0)
    for rows in (0, 1, 3):
        for taps in (0, 1, 3):
            x = draw.standard_normal((rows, 5, 6, 34), np.float32)
            yield {"rows": rows, "taps": taps}, {"x": x, "k": draw.standard_normal((5, 3), np.float32)}


def given(text=CONVOLUTION):
    program = parse(text)
    return program, label(program, "y"), next(b for b in program.buffers if b.name == "x")


def loops(program, names):
    return tuple(loop(program, name) for name in names)


def test_text(golden):
    program, y, x = given()
    c, v = loops(program, "cv")
    result = accepted(prefetch, program, y, x, c, loops(program, "nh"), Const(7), (v,))
    assert [found.name for found in result.forwarding.labels[y]] == ["y", "y.ahead"]
    assert [var.name for var in result.forwarding.loops[v]] == ["v", "v_line"]
    golden(
        "prefetch.txt",
        f"{body(program)}\nprefetch(y, x, c, (n, h), 7, (v,))\n\n{body(result.program)}",
    )


@pytest.mark.parametrize(
    ("place", "ahead", "over"),
    [
        ("c", "nh", "v"),
        ("c", "n", "pv"),
        ("c", "h", ""),
        ("q", "nc", "v"),
        ("c", "nhc", "v"),
        ("v", "v", ""),
        ("n", "n", "hcv"),
    ],
)
@pytest.mark.parametrize("distance", [0, 1, 5, 100])
def test_nothing_changes(place, ahead, over, distance):
    program, y, x = given()
    result = accepted(
        prefetch,
        program,
        y,
        x,
        loop(program, place),
        loops(program, ahead),
        Const(distance),
        loops(program, over),
    )
    check_same(program, result.program, data())
    check_same_compiled(program, result.program, data(), "y")


def test_a_distance_that_a_call_counts():
    program, y, x = given()
    taps = Call(next(function for function in program.functions if function.name == "taps"))
    distance = Binary(BinaryOp.MAX, Binary(BinaryOp.SUB, taps, Const(2)), Const(0))
    c, v = loops(program, "cv")
    result = accepted(prefetch, program, y, x, c, loops(program, "nh"), distance, (v,))
    check_same(program, result.program, data())


SELECTED = """\
program("selected")

rows: input()
n: input(i < rows) = facts(0 <= n(i) < 6)
x: payload(float32[rows, 5])
z: payload(float32[6])
m: payload(int32[4])
y: output(float32[rows])

with kernel:
    for i in serial(rows):
        y[i]: start = 0.0
        for k in serial(6):
            for t in serial({taps}):
                y[i] += {value}
"""


def selected(value, taps="2"):
    program = parse(SELECTED.format(value=value, taps=taps))
    i, k, t = loops(program, "ikt")
    return program, label(program, "y"), next(b for b in program.buffers if b.name == "x"), i, k, t


def few():
    draw = np.random.default_rng(1)
    arrays = {
        "x": draw.standard_normal((4, 5), np.float32),
        "z": draw.standard_normal(6, np.float32),
        "m": np.array([1, 4, 0, 2], np.int32),
        "n": np.array([4, 3, 0, 5], np.int32),
    }
    return [({"rows": 4}, arrays)]


@pytest.mark.parametrize(
    ("value", "guard"),
    [
        ("x[i, k] if i + k < 4 else z[k]", "0 <= i_ahead and i_ahead < rows and (0 <= k and k < 5)"),
        ("x[i, k] if k < 3 else z[k]", "k < 3"),  # it holds in the iteration ahead where it does in this one
        ("x[i, int64(m[k])] if k < 4 else z[k]", "k < 4"),
        (
            "x[i, k + t] if t < 1 and k < 4 else z[k]",
            "0 <= i_ahead and i_ahead < rows and (0 <= k and k < 5)",
        ),
    ],
)
def test_where_conditions_leave_out_iterations(value, guard):
    program, y, x, i, k, _ = selected(value)
    result = accepted(prefetch, program, y, x, k, (i,), Const(2))
    assert f"if {guard}:\n" in body(result.program)
    check_same(program, result.program, few())


def test_a_loop_that_never_runs_is_asked_for_nothing():
    program, y, x, i, k, _ = selected("x[i, k + 7 * t]", taps="0")
    check_same(program, accepted(prefetch, program, y, x, k, (i,), Const(2)).program, few())


def test_what_is_looked_up_is_refused():
    what = "prefetch: cannot prefetch 'x' in loop 'k'"
    program, y, x, i, k, _ = selected("x[i, int64(m[i + k])] if i + k < 4 else z[k]")
    assert refused(prefetch, program, y, x, k, (i,), Const(2)) == (
        f"{what}\n  because: where i + k < 4 does not hold, elements of 'x' are not read\n"
        "  fix: fewer loops ahead, or a buffer that calls bring"
    )
    program, y, x, i, k, _ = selected("(x[i, k] if int64(m[k]) > 1 else z[k]) if i + k < 4 else z[k]")
    assert refused(prefetch, program, y, x, k, (i,), Const(2)).startswith(
        f"{what}\n  because: where i + k < 4 does not hold"
    )
    program, y, x, i, k, _ = selected("x[i, t] if t < 5 else 0.0", taps="n(i)")
    assert refused(prefetch, program, y, x, k, (i,), Const(2)) == (
        f"{what}\n  because: how often loop 't' runs is looked up\n  fix: a place inside of it"
    )


def test_a_processor_is_asked_and_a_gpu_is_not():
    program, y, x = given()
    c, v = loops(program, "cv")
    result = accepted(prefetch, program, y, x, c, loops(program, "nh"), Const(7), (v,)).program
    assert "prefetcht0" in compile_program(result).asm(StageKind.KERNEL)
    assert "prefetch" not in cuda_kernel(one_thread(result)).source


def test_refusals():
    program, y, x = given()
    n, h, c, p, v = loops(program, "nhcpv")
    k = next(b for b in program.buffers if b.name == "k")
    what = "prefetch: cannot prefetch 'x' in loop 'c'"
    gone = Var("gone")

    def why(*args):
        return refused(prefetch, program, *args)

    assert why(y, x, gone, (n,), Const(1)) == (
        "prefetch: cannot prefetch 'x' in loop 'gone'\n  because: loop 'gone' is not around the statement"
    )
    assert why(y, x, c, (n,), Const(1), (h,)) == f"{what}\n  because: loop 'h' is not inside of it"
    assert why(y, x, c, (h, n), Const(1)) == (
        f"{what}\n  because: the loops ahead do not stand around it, outermost first"
    )
    assert why(y, x, c, (), Const(1)) == (
        f"{what}\n  because: the loops ahead do not stand around it, outermost first"
    )
    assert why(y, x, c, (n, p), Const(1)) == (
        f"{what}\n  because: the loops ahead do not stand around it, outermost first"
    )
    assert why(y, x, c, (n,), Const(-1)) == (
        f"{what}\n  because: -1 may be negative\n  fix: a distance that is a maximum of 0 and something"
    )
    assert why(y, x, c, (n,), Ref(v)) == f"{what}\n  because: v names 'v', which is not known there"
    copied = next(b for b in program.buffers if b.name == "copied")
    assert why(y, copied, c, (n,), Const(1)) == (
        "prefetch: cannot prefetch 'copied' in loop 'c'\n  because: 'y' does not read 'copied'"
    )
    lanes = vectorize(program, v).program
    assert refused(prefetch, lanes, y, k, v, (c,), Const(1)) == (
        "prefetch: cannot prefetch 'k' in loop 'v', as it is vectorized\n"
        "  because: its iterations are lanes or workers\n  fix: name a loop around it"
    )


def test_what_is_written_in_the_loops_ahead_is_refused():
    text = CONVOLUTION.replace(
        "            for c in serial(5):\n",
        "            copied[n, 0, h, 0] = 1.0\n            for c in serial(5):\n",
    ).replace("* k[c, p]", "* copied[n, 0, h, 0]")
    program = parse(text)
    y, copied = label(program, "y"), next(b for b in program.buffers if b.name == "copied")
    assert refused(prefetch, program, y, copied, loop(program, "c"), loops(program, "nh"), Const(1)) == (
        "prefetch: cannot prefetch 'copied' in loop 'c'\n"
        "  because: 'copied' is written in loop 'n', and has not all values yet\n  fix: fewer loops ahead"
    )


LEFT_OUT = """\
program("left_out")

rows: input()
t: workspace(float32[rows])
y: output(float32[rows])

with kernel:
    for i in serial(rows):
        if i < 3:
            t[i] = 1.0
    for j in serial(rows):
        if j < 3:
            for k in serial(2):
                y[j] += t[j]
"""


def test_elements_without_a_value_are_refused():
    program = parse(LEFT_OUT)
    y, t = label(program, "y"), next(b for b in program.buffers if b.name == "t")
    assert refused(prefetch, program, y, t, loop(program, "k"), (loop(program, "j"),), Const(1)) == (
        "prefetch: cannot prefetch 't' in loop 'k'\n"
        "  because: where j < 3 does not hold, elements of 't' are not read\n"
        "  fix: fewer loops ahead, or a buffer that calls bring"
    )


def test_loops_of_extents_that_change_are_refused():
    text = SELECTED.format(value="x[i, k]", taps="2").replace("k in serial(6)", "k in serial(min(n(i), 5))")
    program = parse(text)
    y, x = label(program, "y"), next(b for b in program.buffers if b.name == "x")
    why = "prefetch: cannot prefetch 'x' in loop 'k'\n  because: the extent of loop 'k' changes with a loop around it"
    assert refused(prefetch, program, y, x, loop(program, "k"), loops(program, "ik"), Const(2)) == why
    assert refused(prefetch, program, y, x, loop(program, "k"), loops(program, "i"), Const(2)) == why
    assert refused(prefetch, program, label(parse(text), "y"), x, loop(program, "k"), (), Const(2)) == (
        "prefetch: cannot prefetch 'x' in loop 'k'\n  because: the program has no statement 'y'"
    )
