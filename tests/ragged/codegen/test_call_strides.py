"""Rows that lie apart by what a call gives: no pointer for each access is kept from loop to loop."""

import re

import pytest

from ragged import tc
from ragged.analysis.strides import has_strides_of_a_call
from ragged.ir.parser import parse

TEXT = """
def f(float(N,A,B,C) X, float(N,B,D,C) Y) -> (Z) { Z(n,a,d,c) +=! X(n,a,b,c) * Y(n,b,d,c) }
"""
SCALED = """\
program("scaled")

n: input()
x: payload(float32[{shape}], order=({order}))
y: output(float32[n])

with kernel:
    for i in serial(n):
        y[i] = x[{read}] * 2.0
"""


@pytest.mark.parametrize(
    ("shape", "order", "read", "expected"),
    [
        ("n, 8", "0, 1", "i, 3", False),  # rows of a call, each of 8 elements
        ("8, n", "0, 1", "3, i", True),
        ("8, n", "1, 0", "3, i", False),  # the same in memory as the first
        ("n, 8", "1, 0", "i, 3", True),
    ],
)
def test_strides_follow_the_order_in_memory(shape, order, read, expected):
    assert has_strides_of_a_call(parse(SCALED.format(shape=shape, order=order, read=read))) is expected


def test_loops_do_not_begin_with_additions_in_memory():
    f = tc.define(TEXT).f.compile(threads=1, target="x86-64-v4")
    assert len(re.findall(r"\tadd[lq]\s+(?:\$-?\d+|%\w+), -?\d+\(%rsp\)", f.show("asm"))) <= 8
