"""contract_storage where a row is written and read in parts: in one loop, or in loops that go over some of it."""

import pytest

from ragged.ir.printer import to_text
from tests.ragged.passes.contracting import contracted, nodes

PAIRS = """\
for n in serial(count):
    for a in serial(4):
        for b in serial(2):
            u[n, a, b] = x[n, a * 2 + b]
        for c in serial(2):
            y[n, a * 2 + c] = u[n, a, 1 - c]
    for a in serial(4):
        for b in serial(2):
            y[n, a * 2 + b]: y.again = u[n, 3 - a, b] + y[n, a * 2 + b]
"""
STARTED = """\
for m in serial(count):
    for a in serial(4):
        for b in serial(2):
            u[m, a, b]: u.start = 1.0
            y[m, a * 2 + b]: y.start = 1.0
"""
SOME = """\
for a in parallel(count):
    for b in serial(8):
        y[a, b]: y.start = 0.0
for n in serial(count):
    for i in serial(start(1)):
        t[n, i] = x[n, i]
    for j in serial({extent}):
        y[n, j] = t[n, {index}]
"""
FIRST = "min(n, start(1))"


def pairs(text):
    """A program with a temporary `u` of pairs for each node."""
    return nodes(text, other="workspace(float32[count, 4, 2])")


@pytest.mark.parametrize(
    "body",
    [
        PAIRS,
        PAIRS.replace("1 - c", "c"),
        PAIRS.replace("y[n, a * 2 + c] = u[n, a, 1 - c]", "y[n, a * 2 + c] = u[n, a, 1 - c] + u[n, a, c]"),
    ],
)
def test_an_iteration_reads_what_it_has_written(body):
    assert "u = local(float32[4, 2])" in contracted(pairs(body))


@pytest.mark.parametrize(
    "body",
    [
        PAIRS.replace("= u[n, a, 1 - c]", "= u[n, 3 - a, c]"),
        PAIRS.replace("u[n, a, b] = x", "u[n, 3 - a, b] = x"),
        PAIRS.replace(
            " x[n, a * 2 + b]", " x[n, a * 2 + b]\n            y[n, a * 2 + b]: y.early = u[n, a, 1 - b]"
        ),
        PAIRS.replace("for b in serial(2):\n            u", "for b in serial(1):\n            u"),
        PAIRS.replace(
            "for a in serial(4):\n        for b in serial(2):\n            u",
            "for a in serial(3):\n        for b in serial(2):\n            u",
        ),
    ],
    ids=[
        "of another iteration",
        "elsewhere",
        "before it is written",
        "of which a part is written",
        "of some iterations",
    ],
)
def test_what_is_read_before_it_may_be_written_keeps_rows(body):
    assert "u: workspace(float32[count, 4, 2])" in contracted(pairs(STARTED + body))


@pytest.mark.parametrize(
    ("extent", "index"),
    [
        ("start(1)", "j"),
        ("min(start(1), n)", "j"),
        ("min(2, min(n, start(1)))", "j"),
        (f"start(1) - {FIRST}", f"j + {FIRST}"),
        (f"min(start(1) - {FIRST}, 3)", f"j + {FIRST}"),
        (f"min(n, start(1)) - min(2, {FIRST})", f"j + min(2, {FIRST})"),
    ],
)
def test_loops_may_begin_later_and_end_before(extent, index):
    assert "t = local(float32[8])" in contracted(
        nodes(SOME.format(extent=extent, index=index), other="output(float32[1])")
    )


@pytest.mark.parametrize(
    ("extent", "index"),
    [
        ("start(0)", "j"),
        ("max(start(1), 1)", "j"),
        ("start(1)", f"j + {FIRST}"),
        (f"start(1) - {FIRST}", "j + min(n, 3)"),
        (f"8 - {FIRST}", f"j + {FIRST}"),
        (f"{FIRST} - start(1)", f"j + {FIRST}"),
    ],
)
def test_loops_that_may_go_further_keep_rows(extent, index):
    before = "for m in serial(count):\n    for i in serial(8):\n        t[m, i]: t.start = 1.0\n"
    program = nodes(before + SOME.format(extent=extent, index=index), other="output(float32[1])")
    assert contracted(program) == to_text(program)
