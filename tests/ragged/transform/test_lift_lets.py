"""lift_lets: what a loop's iterations bind alike is bound once, before the loop."""

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.code.lift_lets import lift_lets
from tests.ragged.transform.data_support import same_compiled
from tests.ragged.transform.support import accepted, body, check_same, loop, refused

LOOKUP = """\
program("lookup")

count: input()
f: input(n < 4) = facts(0 <= f(n) < 4)
x: payload(float32[4, 8])
y: output(float32[count, 8])
s: output(int64[1])

with kernel:
    s[0]: s.start = 2
    for n in serial(count):
        for i in {kind}({extent}):
            {first}
            {second}
            y[n, i] = x[a, i]
            {last}
"""
WHAT = "lift_lets: cannot bind what stands in loop 'i' before it\n"


def lookup(first="a = f(f(n % 4))", second="b = n", last="", kind="serial", extent=8):
    program = parse(LOOKUP.format(first=first, second=second, last=last, kind=kind, extent=extent))
    return program, loop(program, "i")


def data(count):
    random = np.random.default_rng(count)
    x = random.standard_normal((4, 8)).astype(np.float32)
    return {"count": count}, {"f": random.integers(0, 4, 4).astype(np.int32), "x": x}


DATA = [data(count) for count in (0, 1, 5)]


def test_text(golden):
    program, i = lookup(second="b = a + i")
    new = accepted(lift_lets, program, i).program
    golden("lift_lets.txt", body(program) + "\nlift_lets(i)\n\n" + body(new))
    check_same(program, new, DATA)
    same_compiled(program, new, DATA)


@pytest.mark.parametrize(
    ("changes", "lifted"),
    [
        ({"second": "b = a + n"}, 2),
        ({"second": "b = a + n", "kind": "parallel"}, 2),
        ({"second": "b = i + n"}, 1),
        ({"first": "c = i\\n            a = f(0)".replace("\\n", "\n")}, 0),
        ({"first": "a = f(0)", "second": "if a > 1:\n                s[0] = s[0] + a"}, 1),
        ({"extent": 1}, 2),
        ({"first": "a = s[0]", "second": "b = x[a, 3]"}, 2),
    ],
    ids=["both", "at once", "the first", "none", "under a condition", "one iteration", "loads"],
)
def test_as_many_as_are_the_same_for_all(changes, lifted):
    program, i = lookup(**changes)
    if not lifted:
        assert refused(lift_lets, program, i) == (
            f"{WHAT}  because: it begins with no let that is the same for all iterations"
        )
        return
    new = accepted(lift_lets, program, i).program
    before = body(new).partition("for i in")[0].rpartition("for n in serial(count):\n")[2]
    assert before.count(" = ") == lifted
    check_same(program, new, DATA)


@pytest.mark.parametrize("extent", ["0", "count", "s[0]"])
def test_a_loop_that_may_never_run_is_refused(extent):
    program, i = lookup(extent=extent)
    assert refused(lift_lets, program, i) == (
        f"{WHAT}  because: it may run never, and the value is known in it alone"
    )


def test_what_the_loop_changes_is_refused():
    program, i = lookup(first="a = s[0]", last="s[0] = 1")
    assert refused(lift_lets, program, i) == (
        f"{WHAT}  because: s[0] would be evaluated at another time, and 's' is written in between"
    )


def test_what_the_loop_changes_under_another_name_is_refused():
    program, _ = lookup(first="a = s[0]", last="s[0] = 1")
    text = str(program).replace("\nwith", "t: output(int64[1], aliases=s)\n\nwith", 1)
    program = parse(text.replace("            s[0] = 1", "            t[0] = 1"))
    assert refused(lift_lets, program, loop(program, "i")) == (
        f"{WHAT}  because: s[0] would be evaluated at another time, and 's' is written in between"
    )


def test_a_team_is_refused():
    program, i = lookup(kind="team")
    assert (
        refused(lift_lets, program, i) == f"{WHAT}  because: the iterations of 'i' are the workers of a team"
    )


def test_no_let_is_refused():
    program = parse(str(lookup()[0]))
    n = loop(program, "n")
    assert refused(lift_lets, program, n) == (
        "lift_lets: cannot bind what stands in loop 'n' before it\n"
        "  because: it may run never, and the value is known in it alone"
    )
