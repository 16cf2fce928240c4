"""Dependences that the first iterations of all loops show."""

import pytest

from ragged.analysis.first_iterations import meet_in_first_iterations
from ragged.ir.parser import parse
from ragged.transform.legality import labelled
from ragged.transform.locate import loop_site
from tests.ragged.transform.support import loop

PROGRAM = """\
program("first")

N: call()
M: call()
x: payload(float32[N])
y: output(float32[N])
z: output(float32[N], aliases=y)

with kernel:
    for k in serial(M):
        for i in parallel(N):
            {first}
        for j in parallel(N):
            {second}
"""


def meet(first, second, common=1, about="xyz"):
    program = parse(PROGRAM.format(first=first, second=second))
    inside = (labelled(loop_site(program, loop(program, name), "test")) for name in "ij")
    return meet_in_first_iterations(*inside, common, lambda buffer: buffer.name in about)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("y[i] = 1.0", "y[j] = 2.0"),
        ("y[i] = 1.0", "y[N - 1 - j] = y[j // M]"),
        ("y[i % M] = 1.0", "y[j * M] = 2.0"),
        ("y[k] = 1.0", "y[k + j] = 2.0"),
    ],
)
def test_one_element_in_the_first_iterations(first, second):
    assert meet(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("y[i] = x[i]", "y[j + 1] = x[j]"),  # only what is read alone meets
        ("y[k] = 1.0", "y[j] = 2.0"),
        ("y[i] = 1.0", "z[j] = 2.0"),
        ("y[i] = 1.0", "if N > 4:\n                y[j] = 2.0"),
    ],
)
def test_what_may_not_meet(first, second):
    assert not meet(first, second)


def test_loops_around_both_and_what_it_is_about():
    assert meet("y[k] = 1.0", "y[j] = 2.0", common=0)
    assert not meet("y[i] = 1.0", "y[j] = 2.0", about="x")
