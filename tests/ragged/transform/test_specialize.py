"""specialize: copies of a loop for the lengths that it often has."""

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.loops.specialize import specialize
from ragged.transform.loops.split import Tail, split
from tests.ragged.transform.programs import MATVEC, TREE
from tests.ragged.transform.support import (
    MATVEC_DATA,
    TREE_DATA,
    accepted,
    body,
    check_same,
    check_same_compiled,
    loop,
    refused,
)

LOCALS = """\
program("locals")

count: input()
a: parameter(float32[16])
x: output(float32[16])

with kernel:
    for n in serial(count):
        acc = local(float32[4])
        acc[0]: acc.init = 0.0
        other = local(float32[4], aliases=acc)
        for j in serial(3):
            k = n + j
            other[0] += a[k]
        x[n] = acc[0]
"""


def test_text(golden):
    program = parse(LOCALS)
    n = loop(program, "n")
    result = accepted(specialize, program, n, (1, 2))
    assert [var.name for var in result.forwarding.loops[n]] == ["n", "n_is1", "n_is2"]
    golden("specialize.txt", body(program) + "\nspecialize(n, (1, 2))\n\n" + body(result.program))


@pytest.mark.parametrize("values", [(1,), (3, 1), (1, 2, 3), (9,)])
def test_every_choice_computes_the_same(values):
    program = parse(LOCALS)
    data = [({"count": count}, {"a": np.arange(16, dtype=np.float32)}) for count in range(6)]
    check_same(program, accepted(specialize, program, loop(program, "n"), values).program, data)
    program = parse(MATVEC)
    check_same(program, accepted(specialize, program, loop(program, "n"), values).program, MATVEC_DATA)
    program = parse(TREE)
    check_same(program, accepted(specialize, program, loop(program, "n", 1), values).program, TREE_DATA)


def test_a_tail_leaves_no_else():
    program = parse(MATVEC)
    cut = accepted(split, program, loop(program, "n"), 4, Tail.PEEL).program
    tail = loop(cut, "n_t")
    result = accepted(specialize, cut, tail, (1, 2, 3))
    assert [var.name for var in result.forwarding.loops[tail]] == ["n_t_is1", "n_t_is2", "n_t_is3"]
    assert "else:" not in body(result.program)
    check_same(program, result.program, MATVEC_DATA)
    check_same_compiled(program, result.program, MATVEC_DATA, "y")
    assert "else:" in body(accepted(specialize, cut, tail, (1, 3)).program)


def test_a_reduction_over_it_goes_over_its_copies():
    program = parse(MATVEC.replace("serial(6)", "serial(min(count, 6))"))
    result = accepted(specialize, program, loop(program, "j"), (2, 6))
    check_same(program, result.program, MATVEC_DATA)


def test_numbers_that_no_loop_runs_are_refused():
    program = parse(MATVEC)
    n = loop(program, "n")
    for values, shown in (((), "nothing"), ((0, 1), "0, 1"), ((2, 2), "2, 2")):
        assert refused(specialize, program, n, values) == (
            f"specialize: cannot specialize loop 'n' for {shown}\n  fix: one or more different numbers, from 1 up"
        )


def test_a_constant_extent_is_refused():
    program = parse(MATVEC)
    assert refused(specialize, program, loop(program, "i"), (8,)) == (
        "specialize: cannot specialize loop 'i' for 8\n  because: it always runs 8 times"
    )


def test_a_team_is_refused():
    program = parse(LOCALS.replace("serial(count)", "team(count)"))
    assert refused(specialize, program, loop(program, "n"), (1,)) == (
        "specialize: cannot specialize loop 'n' for 1\n  because: the iterations of 'n' are the workers of a team"
    )
