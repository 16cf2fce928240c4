"""never_meet: two accesses touch no element alike, in whatever iterations of the loops inside the common ones."""

import pytest

from ragged.analysis.dependence import never_meet
from ragged.ir.parser import parse
from ragged.ir.sites import regions
from ragged.transform.legality import labelled
from ragged.transform.locate import loop_site
from tests.ragged.transform.support import loop

PROGRAM = """\
program("meeting")

count: input()
next: input(k < 8) = facts(k + 8 <= next(k) < 99)
s: output(int64[8])
x: output(float32[99])
g: output(float32[99], aliases=x)
y: output(float32[9])

with kernel:
    for m in serial(4):
        for n in serial(8):
            {write}
            {read}
"""


def meets(write, read, common):
    """Return whether what the first statement writes may be what the second one reads of `x` or `g`."""
    program = parse(PROGRAM.format(write=write, read=read))
    first, second = labelled(loop_site(program, loop(program, "m"), "test"))
    (written,) = regions(first).writes
    (looked_at,) = (access for access in regions(second).reads if access.buffer.name in "xg")
    assert never_meet(program, (first, written), (second, looked_at), common) == never_meet(
        program, (second, looked_at), (first, written), common
    )
    return not never_meet(program, (first, written), (second, looked_at), common)


@pytest.mark.parametrize(
    ("write", "read", "common", "expected"),
    [
        ("x[n] = 1.0", "y[n] = x[next(n)]", 0, False),
        ("x[n] = 1.0", "y[n] = x[n + 8]", 0, False),
        ("x[n] = 1.0", "y[n] = x[n + 7]", 0, True),  # of another iteration
        ("x[n] = 1.0", "y[n] = x[n + 1]", 2, False),  # of one and the same
        ("x[m] = 1.0", "y[n] = x[m + 1]", 1, False),
        ("x[m] = 1.0", "y[n] = x[m + 1]", 0, True),
        ("x[n * 2] = 1.0", "y[n] = x[n * 2 + 1]", 0, False),
        ("if n < 4:\n                x[n] = 1.0", "y[n] = x[n] if n >= 4 else 0.0", 0, False),
        ("if n < 5:\n                x[n] = 1.0", "y[n] = x[n] if n >= 4 else 0.0", 0, True),
        ("for i in serial(3):\n                x[i] = 1.0", "y[n] = x[n + 3]", 0, False),
        ("for i in serial(count):\n                x[i] = 1.0", "y[n] = x[count + n]", 0, False),
        ("x[n] = 1.0", "y[n] = g[n + 50]", 0, True),  # another name says nothing of the place
        ("x[s[n]] = 1.0", "y[n] = x[s[n] + 1]", 2, True),  # `s` may have changed in between
    ],
)
def test_whether_two_accesses_meet(write, read, common, expected):
    assert meets(write, read, common) is expected
