"""reroll: nests that do the same one after another as one nest in a loop."""

from textwrap import indent

import numpy as np
import pytest

from ragged.errors import ScheduleError
from ragged.ir.parser import parse
from ragged.transform.loops.reroll import reroll
from ragged.transform.storage.concat_buffers import concat_buffers
from tests.ragged.transform.data_programs import GATES, data
from tests.ragged.transform.data_support import declared, same, same_compiled, valid
from tests.ragged.transform.support import body, check_same, label, loop, refused

STACKED = GATES.replace("s = local(float32[20])\n        t = local", "t = local").replace(
    "local(float32[20])", "local(float32[2, 20])"
)
STACKED = (
    STACKED.replace("s[i]: s.init", "t[0, i]: s.init")
    .replace("t[i]: t.init", "t[1, i]: t.init")
    .replace("s[i] +=", "t[0, i] +=")
    .replace("t[i] +=", "t[1, i] +=")
    .replace("s[i] * t[i]", "t[0, i] * t[1, i]")
)
"""The gates with their temporaries in one buffer."""

NESTS = """\
program("nests")

count: input()
x: payload(float32[count])
f: input(n < 9) = facts(0 <= f(n) < 9)
y: output(float32[99])

with kernel:
    for i in serial(99):
        y[i]: y.start = 0.5
"""


def nests(*texts):
    """Return a program of these nests, one after another."""
    lines = indent("\n".join(texts), "    ")
    return parse(f"{NESTS}{lines}\n")


def outer(program):
    """Return the loops named `n`, in order."""
    found = []
    while True:
        try:
            found.append(loop(program, "n", len(found)))
        except IndexError:
            return tuple(found)


def data_of(count):
    random = np.random.default_rng(count)
    x = random.standard_normal(count).astype(np.float32)
    return {"count": count}, {"x": x, "f": random.integers(0, 9, 9).astype(np.int32)}


DATA = [data_of(count) for count in (9, 12)]
UNLIKE = "  because: 'n' and the next do not do the same"


def stacked_gates():
    program = parse(STACKED)
    return concat_buffers(program, (declared(program, "W"), declared(program, "U")), "WU").program


def gates(program):
    return tuple(loop(program, "i", k) for k in range(2))


def test_text(golden):
    program = stacked_gates()
    first, second = gates(program)
    result = valid(reroll, program, (first, second), "g")
    golden("reroll.txt", body(program) + "\nroll((i, i), 'g')\n\n" + body(result.program))
    assert result.forwarding.loops[second] == result.forwarding.loops[first] == (first,)
    assert result.forwarding.loops[loop(program, "j", 1)] == (loop(program, "j"),)
    kept, gone = (label(program, "t", k) for k in range(2))
    assert result.forwarding.labels[gone] == result.forwarding.labels[kept] == (kept,)
    same(program, result.program, data(GATES))
    same_compiled(program, result.program, data(GATES))


@pytest.mark.parametrize(
    ("first", "second", "third", "rolled"),
    [
        (
            "for n in serial(4):\n    y[n + 1] = x[n]",
            "for n in serial(4):\n    y[n + 9]: b = x[n]",
            "for n in serial(4):\n    y[n + 17]: c = x[n]",
            "for g in serial(3):\n    for n in serial(4):\n        y[n + (g * 8 + 1)] = x[n]",
        ),
        (  # backwards
            "for n in serial(4):\n    y[n + 17] = x[n + 4]",
            "for n in serial(4):\n    y[n + 9]: b = x[n + 2]",
            "for n in serial(4):\n    y[n + 1]: c = x[n + 0]",
            "for g in serial(3):\n    for n in serial(4):\n        y[n + (g * -8 + 17)] = x[n + (g * -2 + 4)]",
        ),
        (  # extents that grow, the first of them nothing
            "for n in serial(0):\n    y[n + 1] = x[n]",
            "for n in serial(3):\n    y[n + 5]: b = x[n]",
            "for n in serial(6):\n    y[n + 9]: c = x[n]",
            "",
        ),
        (  # one iteration each, and numbers under functions and conditions
            "for n in serial(1):\n    if f(1) < 5:\n        y[f(2)] = x[n + 1]",
            "for n in serial(1):\n    if f(2) < 4:\n        y[f(4)]: b = x[n + 2]",
            "for n in serial(1):\n    if f(3) < 3:\n        y[f(6)]: c = x[n + 3]",
            "for g in serial(3):\n    for n in serial(1):\n        if f(g + 1) < g * -1 + 5:\n"
            "            y[f(g * 2 + 2)] = x[n + (g + 1)]",
        ),
        (  # lets and loops of their own names, and names that the nests share
            "for n in serial(3):\n    k = n + 1\n    for i in serial(2):\n        y[k + i] += x[i + 2]",
            "for n in serial(3):\n    m = n + 2\n    for j in serial(2):\n        y[m + j] += x[j + 3]",
            "for n in serial(3):\n    n_1 = n + 3\n    for g in serial(2):\n        y[n_1 + g] += x[g + 4]",
            "",
        ),
        (  # a reduction that starts from what a buffer holds
            "for n in serial(4):\n    y[1] = reduce(sum, x[n], over=(n,), init=x[5])",
            "for n in serial(4):\n    y[2]: b = reduce(sum, x[n], over=(n,), init=x[6])",
            "for n in serial(4):\n    y[3]: c = reduce(sum, x[n], over=(n,), init=x[7])",
            "for g in serial(3):\n    for n in serial(4):\n        y[g + 1] = reduce(sum, x[n], init=x[g + 5])",
        ),
        (  # checks, and local buffers alike
            "for n in serial(4):\n    check(n < 8, 'at {0}', n, label=a)\n"
            "    t = local(float32[3])\n    t[1] = x[n]\n    y[n + 1] = t[1]",
            "for n in serial(4):\n    check(n < 9, 'at {0}', n, label=b)\n"
            "    t = local(float32[3])\n    t[2] = x[n]\n    y[n + 5]: b.y = t[2]",
            "",
            "",
        ),
    ],
    ids=["forward", "backward", "extents", "functions", "names", "start", "local"],
)
def test_what_is_rolled_computes_the_same(first, second, third, rolled):
    program = nests(first, second, third)
    result = valid(reroll, program, outer(program), "g")
    check_same(program, result.program, DATA)
    same(program, result.program, DATA)
    assert indent(rolled, "    ") in body(result.program)


def test_machine_code():
    program = nests(
        "for n in serial(4):\n    y[n + 17] = x[n + 4]",
        "for n in serial(3):\n    y[n + 9]: b = x[n + 2]",
        "for n in serial(2):\n    y[n + 1]: c = x[n + 0]",
    )
    same_compiled(program, reroll(program, outer(program), "g").program, DATA)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("for n in serial(4):\n    y[n] = 0.5", "for n in serial(4):\n    y[n]: b = 1.5"),
        ("for n in serial(4):\n    y[n] = 0.0", "for n in serial(4):\n    y[n]: b = -0.0"),
        ("for n in serial(4):\n    y[n] = x[n]", "for n in serial(4):\n    y[n]: b = x[3]"),
        ("for n in serial(4):\n    y[n] = x[n]", "for n in parallel(4):\n    y[n + 4]: b = x[n]"),
        ("for n in serial(count):\n    y[1] = x[n]", "for n in serial(4):\n    y[2]: b = x[n]"),
        ("for n in vectorized(4):\n    y[n + 1] = x[n]", "for n in vectorized(8):\n    y[n + 5]: b = x[n]"),
        ("for n in serial(4):\n    y[n] = x[n]", "for n in serial(4):\n    y[n] += x[n]"),
        (
            "for n in serial(4):\n    y[n] = x[n]",
            "for n in serial(4):\n    if n < 4:\n        y[n]: b = x[n]",
        ),
        (
            "for n in serial(4):\n    for m in serial(4):\n        y[n * 4 + m] = x[m]",
            "for n in serial(4):\n    for m in serial(4):\n        y[m * 4 + n]: b = x[m]",
        ),
        (
            "for n in serial(4):\n    y[1] = reduce(sum, x[n], over=(n,), init=0.0)",
            "for n in serial(4):\n    y[2]: b = reduce(sum, x[n], over=(n,), init=1.0)",
        ),
        (
            "for n in serial(4):\n    t = local(float32[2])\n    t[0] = x[n]\n    y[n] = t[0]",
            "for n in serial(4):\n    t = local(float32[4])\n    t[0] = x[n]\n    y[n]: b = t[0]",
        ),
        (
            "for n in serial(4):\n    t = local(float32[2])\n    t[1] = x[n]\n    y[n] = t[1]",
            "for n in serial(4):\n    t = local(float32[2], scope=register)\n    t[1] = x[n]\n    y[n]: b = t[1]",
        ),
        *(
            (
                "for n in serial(4):\n    t = local(float32[2, 2])\n    y[n] = x[n]",
                f"for n in serial(4):\n    t = local({other})\n    y[n]: b = x[n]",
            )
            for other in ("float64[2, 2]", "float32[2, 2], order=(1, 0)", "float32[2, 2], align=256")
        ),
    ],
    ids=[
        "constants",
        "signs",
        "index",
        "kind",
        "extent",
        "vectors",
        "combiner",
        "condition",
        "order",
        "start",
        "local shape",
        "local scope",
        "local type",
        "local order",
        "local alignment",
    ],
)
def test_nests_that_differ_otherwise_are_refused(first, second):
    program = nests(first, second)
    assert refused(reroll, program, outer(program), "g") == (
        f"reroll: cannot make one of the loops 'n', 'n'\n{UNLIKE}"
    )


def test_numbers_that_no_step_leads_through_are_refused():
    program = nests(*(f"for n in serial(2):\n    y[n + {k}]: y.of_{k} = x[n]" for k in (1, 2, 4)))
    assert refused(reroll, program, outer(program), "g") == (
        "reroll: cannot make one of the loops 'n', 'n', 'n'\n"
        "  because: an index of theirs is 1, 2, 4, which no one step leads through"
    )


@pytest.mark.parametrize("given", [(), (0,), (0, 0), (1, 0), (0, 2), (2, 3)])
def test_loops_that_do_not_follow_each_other_are_refused(given):
    program = nests(*3 * ["for n in serial(2):\n    y[n + 1]: _ = x[n]"])
    loops = (*outer(program), loop(program, "i"))
    names = ", ".join(repr(loops[k].name) for k in given)
    assert refused(reroll, program, tuple(loops[k] for k in given), "g") == (
        f"reroll: cannot make one of the loops {names}\n"
        "  because: they are not two or more loops of one block, each directly after the one before"
    )


def test_what_is_between_or_around_keeps_loops_apart():
    program = nests(
        "for n in serial(2):\n    y[n] = x[n]", "y[9]: b = 0.0", "for n in serial(2):\n    y[n]: c = x[n]"
    )
    with pytest.raises(ScheduleError, match="they are not two or more loops of one block"):
        reroll(program, outer(program), "g")
    program = nests(
        "for m in serial(2):\n    for n in serial(2):\n        y[n] = x[n]",
        "for n in serial(2):\n    y[n]: c = x[n]",
    )
    with pytest.raises(ScheduleError, match="they are not two or more loops of one block"):
        reroll(program, outer(program), "g")
