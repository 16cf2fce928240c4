"""share_nest: few iterations of an outer loop leave no worker idle."""

import numpy as np
import pytest

from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.transform.mapping.share_nest import share_nest
from tests.ragged.transform.support import accepted, body, loop, refused

PANELS = """\
program("panels")

panels: call()
n: call()
workers: call()
x: payload(float32[panels, n])
t: workspace(float32[workers, n])
y: output(float32[panels, (n + 1) // 2, 2])

with kernel:
    for w in team(workers):
        first = w * panels // workers
        for p_s in serial((w + 1) * panels // workers - first):
            p = first + p_s
            for k in serial(n):
                t[w, k] = 2.0 * x[p, k]
            for b in parallel((n + 1) // 2):
                for i in serial(min(2, n - b * 2)):
                    y[p, b, i] = t[w, b * 2 + i] + t[w, 0]
"""


def panels(old="", new=""):
    assert old in PANELS
    return parse(PANELS.replace(old, new))


def test_text(golden):
    program = panels()
    new = accepted(share_nest, program, loop(program, "p_s"), loop(program, "b")).program
    golden("share_nest.txt", f"{body(program)}\nshare_nest(p_s, b)\n\n{body(new)}")


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize(("count", "n"), [(0, 3), (1, 0), (1, 7), (3, 4), (2, 9), (9, 1)])
def test_results_for_any_number_of_workers(count, n, workers):
    program = panels()
    new = accepted(share_nest, program, loop(program, "p_s"), loop(program, "b")).program
    x = np.random.default_rng(n).standard_normal((count, n), np.float32)
    sizes = {"panels": count, "n": n, "workers": workers}
    want, got = (interpret(each, sizes, {"x": x}, seed=n)["y"] for each in (program, new))
    written = np.arange((n + 1) // 2 * 2).reshape(-1, 2) < n
    np.testing.assert_array_equal(got[:, written], want[:, written])


def test_a_condition_on_sizes_around_the_share():
    text = PANELS.replace("        first =", "        barrier(team)\n        first =")
    head, nest = text.split("        first =")
    inside = "".join(f"    {line}\n" for line in ("        first =" + nest).splitlines())
    wanted = parse(f"{head}        if n < 5:\n{inside}        barrier(team)\n")
    new = accepted(share_nest, wanted, loop(wanted, "p_s"), loop(wanted, "b")).program
    assert "for p_s_b in" in body(new)
    x = np.random.default_rng(1).standard_normal((3, 4), np.float32)
    for program in (wanted, new):
        got = interpret(program, {"panels": 3, "n": 4, "workers": 2}, {"x": x})["y"]
        np.testing.assert_array_equal(got[:, :, 0], 2.0 * x[:, ::2] + 2.0 * x[:, :1])
    own = parse(f"{head}        if w < 5:\n{inside}        barrier(team)\n")
    assert "between barriers" in refused(share_nest, own, loop(own, "p_s"), loop(own, "b"))
    other = "        for i in serial(1):\n            y[0, 0, 0]: y.other = 0.0\n"
    beside = parse(f"{head}        if n < 5:\n{inside}{other}")
    assert "between barriers" in refused(share_nest, beside, loop(beside, "p_s"), loop(beside, "b"))


ALONE = """\
program("alone")

panels: call()
n: call()
workers: call()
x: payload(float32[panels, n])
y: output(float32[panels, n])

with kernel:
    for w in team(workers):
        first = w * panels // workers
        for p_s in serial((w + 1) * panels // workers - first):
            p = first + p_s
            for b in parallel(n - 1):
                y[p, b] = x[p, b]
"""


def test_nothing_before_the_inner_loop_and_an_extent_that_may_be_negative():
    program = parse(ALONE)
    text = body(accepted(share_nest, program, loop(program, "p_s"), loop(program, "b")).program)
    assert "if " not in text
    assert "serial((w + 1) * (panels * max(n - 1, 0)) // workers - first)" in text


REFUSED = {
    "no_share": (panels(), "k", "b"),
    "other_shares": (
        panels("first = w * panels // workers", "first = w * panels // (workers + 0)"),
        "p_s",
        "b",
    ),
    "statements_beside": (
        panels(
            "    for w in team(workers):\n", "    for w in team(workers):\n        y[w, 0, 0]: y.at = 0.0\n"
        ),
        "p_s",
        "b",
    ),
    "not_the_last": (panels(), "p_s", "k"),
    "extent": (panels("parallel((n + 1) // 2)", "parallel(min(p, (n + 1) // 2))"), "p_s", "b"),
    "worker": (panels("parallel((n + 1) // 2)", "parallel(min(w, (n + 1) // 2))"), "p_s", "b"),
    "begin": (panels("t[w, b * 2 + i] + t[w, 0]", "t[w, b * 2 + i] + 1.0 if p_s < 1 else 0.0"), "p_s", "b"),
    "serial": (panels("parallel(", "serial("), "p_s", "b"),
    "an_output": (panels("t: workspace", "t: output"), "p_s", "b"),
    "shared": (panels("t[w, ", "t[0, "), "p_s", "b"),
    "written_inside": (
        panels("+ t[w, 0]", "+ 1.0\n                    t[w, b * 2 + i]: t.again = 0.0"),
        "p_s",
        "b",
    ),
    "barrier": (
        panels("                for i in", "                barrier(team)\n                for i in"),
        "p_s",
        "b",
    ),
    "threads": (panels("for i in serial(", "for i in threads("), "p_s", "b"),
    "read_of_what_is_written": (panels("2.0 * x[p, k]", "2.0 * y[p, 0, 0]"), "p_s", "b"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case, golden):
    program, outer, inner = REFUSED[case]
    text = refused(share_nest, program, loop(program, outer), loop(program, inner))
    golden(f"share_nest_{case}.txt", f"{text}\n")


def test_a_table_that_is_used_elsewhere():
    head, kernel = PANELS.split("    for w in team(workers):\n")
    scoped = "".join(f"    {line}\n" for line in kernel.splitlines())
    after = "        barrier(team)\n        for q in serial(1):\n            y[w, 0, 0]: y.after = t[w, 0]\n"
    program = parse(f"{head}    for w in team(workers):\n        with scope:\n{scoped}{after}")
    assert "that this loop alone uses" in refused(
        share_nest, program, loop(program, "p_s"), loop(program, "b")
    )
    program = parse(
        f"{head}    for w in team(workers):\n        with scope:\n{scoped}{after.replace('t[w, 0]', '0.0')}"
    )
    accepted(share_nest, program, loop(program, "p_s"), loop(program, "b"))
    program = parse(
        f"{head}    for w in team(workers):\n        with scope:\n{scoped}{after.partition(chr(10))[2]}"
    )
    assert "between barriers" in refused(share_nest, program, loop(program, "p_s"), loop(program, "b"))
