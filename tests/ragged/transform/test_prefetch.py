"""prefetch: what a nest reads is brought near while what comes before it is computed."""

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.prefetch import prefetch
from tests.ragged.transform.data_support import declared, local, same_compiled, valid
from tests.ragged.transform.support import body, loop, refused

TILES = """\
program("tiles")

count: structure()
row: structure(n < count) = facts(0 <= row(n) < count)
last: structure(n < count) = facts(0 <= last(n) < 3)
w: parameter(float32[16, 16])
at: payload(int64[count])
x: payload(float32[count, 16])
v: payload(float32[count, 16])
z: workspace(float32[count, 16])
y: output(float32[count, 16])

with kernel:
    for n in serial(count):
        for i in serial(16):
            z[n, i] = x[n, i]
    for n_o in serial(count // 4):
        s = local(float32[4, 16])
        for n_s in serial(4):
            for i_s in vectorized(16):
                s[n_s, i_s] = 0.0
            for j in serial(16):
                for i_t in vectorized(16):
                    s[n_s, i_t] = s[n_s, i_t] + w[j, i_t] * x[n_o * 4 + n_s, j]
        for n_i in serial(4):
            node = n_o * 4 + n_i
            {nest}
"""
NEST = """\
for k in serial(last(node)):
                for i in vectorized(16):
                    s[n_i, i] = s[n_i, i] + x[row(node), i]
            for i in vectorized(16):
                y[node, i] = s[n_i, i] + v[node, i] + (z[node, i] if v[node, 0] > 0.0 else x[node, 0])"""


def tiles(nest=NEST):
    return parse(TILES.format(nest=nest))


def line(text):
    return f"for i in vectorized(16):\n                y[node, i] = {text}"


def data(count):
    draw = np.random.default_rng(count)
    arrays = {
        "row": draw.integers(0, max(count, 1), count, np.int32),
        "last": draw.integers(0, 3, count, np.int32),
        "at": np.zeros(count, np.int64),
    }
    floats = {"w": (16, 16), "x": (count, 16), "v": (count, 16)}
    return {"count": count}, arrays | {
        name: draw.standard_normal(s, np.float32) for name, s in floats.items()
    }


DATA = [data(count) for count in (0, 4, 8, 12)]


def ahead(program):
    """Return the lines of a kernel that prefetch, with the loops and lets around them."""
    lines = body(program).splitlines()
    first = next(k for k, text in enumerate(lines) if "_ahead in" in text)
    return [text[8:] for text in lines[first:] if text.startswith(" " * 8)][
        : next(k for k, text in enumerate(lines[first:]) if "for n_s" in text)
    ]


def test_text(golden):
    old = tiles()
    new = valid(prefetch, old, loop(old, "n_i"), declared(old, "x")).program
    new = valid(prefetch, new, loop(new, "n_i"), declared(new, "v")).program
    golden("prefetch.txt", f"{body(old)}\nprefetch(n_i, x)\nprefetch(n_i, v)\n\n{body(new)}")


def test_results():
    old = tiles()
    new = old
    for name in ("x", "v"):
        new = valid(prefetch, new, loop(new, "n_i"), declared(new, name)).program
    for sizes, arrays in DATA:
        np.testing.assert_array_equal(*(interpret(each, sizes, arrays)["y"] for each in (old, new)))
    same_compiled(old, new, DATA)
    assert "prefetch" in compile_program(new).asm(StageKind.KERNEL)


def test_what_a_condition_decides_about_is_left():
    old = tiles()
    assert refused(prefetch, old, loop(old, "n_i"), declared(old, "z")) == refusal("n_i", "z") + NOTHING
    new = valid(prefetch, old, loop(old, "n_i"), declared(old, "x")).program
    assert [text.strip() for text in ahead(new) if "prefetch" in text] == ["prefetch(x[row(node), 0])"]


BRANCHES = """\
if last(node) > 1:
                for i in vectorized(16):
                    y[node, i] = {}
            else:
                for i in vectorized(16):
                    y[node, i] = {}"""


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        (("v[node, i]", "1.0"), ["if last(node) > 1:", "prefetch(v[node, 0])"]),
        (("2.0", "v[node, 15 - i]"), ["if last(node) > 1:", "pass", "else:", "prefetch(v[node, 15 - 0])"]),
    ],
)
def test_conditions_around_statements_go_along(branches, expected):
    old = tiles(BRANCHES.format(*branches))
    new = valid(prefetch, old, loop(old, "n_i"), declared(old, "v")).program
    found = [text.strip() for text in ahead(new)]
    assert found == ["for n_i_ahead in serial(4):", "node = n_o * 4 + n_i_ahead", *expected]
    same_compiled(old, new, DATA)


def test_it_is_replayed():
    old = tiles()
    schedule, again = LoopSchedule(old), LoopSchedule(old)
    schedule.apply(prefetch, schedule.loop("n_i"), schedule.buffer("v"))
    exec(schedule.log(), {"s": again, "prefetch": prefetch})
    assert str(again.program) == str(schedule.program)


def refusal(name, buffer):
    return f"prefetch: cannot bring near what loop '{name}' reads of '{buffer}'\n"


NOTHING = "  because: no read of it in that loop is certain to run\n  fix: name a buffer that the nest reads"


def test_refusals():
    old = tiles()
    x = declared(old, "x")
    assert refused(prefetch, old, loop(old, "n_i"), local(old, "s")) == (
        refusal("n_i", "s") + "  because: it is local: it was just written\n  fix: name a declared buffer"
    )
    assert refused(prefetch, old, loop(old, "n_s"), x) == (
        refusal("n_s", "x")
        + "  because: nothing stands before the loop in its block: it would be read at once\n"
        "  fix: name a nest that comes after another one"
    )
    assert refused(prefetch, old, loop(old, "n_i"), declared(old, "w")) == refusal("n_i", "w") + NOTHING


@pytest.mark.parametrize(
    "nest",
    [
        'check(row(node) < 3, "{0}", row(node))\n            ' + line("x[row(node), i]"),
        "for t in team(workers):\n                y[node, t] = x[node, t]",
    ],
)
def test_checks_and_workers_are_refused(nest):
    text = TILES.format(nest=nest).replace("w: parameter", "workers: call()\nw: parameter")
    old = parse(text)
    assert refused(prefetch, old, loop(old, "n_i"), declared(old, "x")) == (
        refusal("n_i", "x")
        + "  because: a check, or a loop of workers, in its block says whether it is read\n"
        "  fix: add a fact that proves the check, or name a nest of a block without one"
    )


def test_where_it_reads_must_be_known_before():
    text = TILES.format(nest=line("x[at[node], i]"))
    old = parse(text)
    new = valid(prefetch, old, loop(old, "n_i"), declared(old, "x")).program
    assert "prefetch(x[at[node], 0])" in body(new)
    text = text.replace("at: payload", "at: workspace").replace(
        "            for j in serial(16):",
        "            at[n_o * 4 + n_s] = n_s\n            for j in serial(16):",
    )
    late = parse(text)
    assert refused(prefetch, late, loop(late, "n_i"), declared(late, "x")) == (
        refusal("n_i", "x") + "  because: where it reads depends on what is written in the block\n"
        "  fix: compute before the block where it reads"
    )
