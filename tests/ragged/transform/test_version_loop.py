"""version_loop: a copy of a loop for where a condition holds."""

import numpy as np
import pytest

from ragged.ir.expr import Binary, Call, Const, Ref, Var
from ragged.ir.interpret import CheckFailed, interpret
from ragged.ir.ops import BinaryOp
from ragged.ir.parser import parse
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.version_loop import version_loop
from ragged.transform.mapping.vectorize import vectorize
from tests.ragged.transform.data_support import valid
from tests.ragged.transform.support import accepted, body, check_same, loop, refused

LINE = """\
program("line")

count: input()
n: input(i < count)
few: input() = facts(1 <= few < 9)
y: payload(float32[count])
x: output(float32[16])

with kernel:
    for w in serial(16):
        x[w] = y[w] if w < count else 0.0
"""


def line():
    program = parse(LINE)
    return program, loop(program, "w"), Call(program.functions[0])


def test_text(golden):
    program, w, count = line()
    result = accepted(version_loop, program, w, Const(16), count)
    assert [var.name for var in result.forwarding.loops[w]] == ["w", "w_v"]
    simple = simplify_guards(result.program)
    golden(
        "version_loop.txt",
        f"{body(program)}\nversion_loop(w, 16, count)\n\n{body(result.program)}\n"
        f"simplify_guards()\n\n{body(simple.program)}",
    )


def test_both_copies_compute_the_same():
    program, w, count = line()
    result = accepted(version_loop, program, w, Const(16), count)
    simple = simplify_guards(result.program).program
    for size in (0, 1, 15, 16, 17):
        data = [
            (
                {"count": size, "few": 1},
                {"y": np.arange(1, size + 1, dtype=np.float32), "n": np.zeros(size, np.int32)},
            )
        ]
        check_same(program, result.program, data)
        check_same(program, simple, data)


@pytest.mark.parametrize("left", [True, False])
def test_facts_by_which_an_index_has_a_value_are_checked(left):
    program, w, count = line()
    half = Binary(BinaryOp.FLOORDIV, Const(16), Call(program.functions[2]))
    result = valid(version_loop, program, w, *((half, count) if left else (count, half)))
    with pytest.raises(CheckFailed, match="few = 0 is not in"):
        interpret(
            result.program, {"count": 0, "few": 0}, {"y": np.zeros(0, np.float32), "n": np.zeros(0, np.int32)}
        )


def test_refusals():
    program, w, count = line()
    other = Var("gone")
    assert refused(version_loop, program, other, Const(1), count).startswith(
        "version_loop: the program has no loop 'gone'\n"
    )
    what = "version_loop: cannot copy loop 'w'"
    assert refused(version_loop, program, w, Ref(other), count) == (
        f"{what}\n  because: gone names 'gone', which is not known there"
    )
    assert refused(version_loop, program, w, Call(program.functions[1], (Const(0),)), count) == (
        f"{what}\n  because: n(0) has no value unless 0 <= 0 and 0 < count, which is not proven\n  example: count = 0"
    )
    lanes = vectorize(program, w).program
    assert refused(version_loop, lanes, loop(lanes, "w"), Const(1), count) == (
        f"{what}, as it is vectorized\n  because: its iterations are lanes or workers\n  fix: version_loop first"
    )
