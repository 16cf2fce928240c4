"""compute_at: a loop computes as much of a temporary as an iteration reads."""

import random

import numpy as np
import pytest

from ragged.errors import ScheduleError
from ragged.ir.parser import parse
from ragged.ir.verify import verify
from ragged.transform.code.compute_at import compute_at
from ragged.transform.loops.split import Tail, split
from tests.ragged.transform.data_support import declared, same, valid
from tests.ragged.transform.support import body, check_same_compiled, label, loop, refused

CHAIN = """\
program("chain")

n: input()
x: payload(float32[2 * n + 8, 12])
w: parameter(float32[3])
{more}z: workspace(float32[2 * n + 8, 12])
q: {role}(float32[2 * n + 6, 12])
y: output(float32[n, 8])

with kernel:
{before}
{after}
"""
NEST = """\
for t in parallel(2 * n + 6):
    for i in serial(12):
        q[t, i] = x[t, i] * 2.0 + x[t + 1, i]
"""
SUM = """\
for t in parallel(2 * n + 6):
    for i in serial(12):
        q[t, i]: q.init = 0.0
        for k in serial(3):
            q[t, i] += x[t + k, i] * w[k]
"""
BLOCKS = """\
for b in parallel((n + 3) // 4):
    for s in serial(min(4, n - b * 4)):
        for i in serial(8):
            y[b * 4 + s, i] = q[b * 4 + s, i] + q[b * 4 + s + 2, i + 1]
"""


def chain(before=NEST, after=BLOCKS, role="workspace", more=""):
    def suite(text):
        return "\n".join(f"    {line}" for line in text.splitlines())

    return parse(CHAIN.format(before=suite(before), after=suite(after), role=role, more=more))


def data(n, seed):
    rng = np.random.default_rng(seed)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((2 * n + 8, 12), 3))
    return {"n": n}, {"x": x, "w": w}


DATA = [data(n, seed=n) for n in (0, 1, 3, 4, 5, 9)]


@pytest.mark.parametrize("name, nest", [("elementwise", NEST), ("a_sum", SUM)])
def test_text(golden, name, nest):
    program = chain(before=nest)
    new = valid(compute_at, program, declared(program, "q"), loop(program, "b")).program
    golden(f"compute_at_{name}.txt", f"{program}\ncompute_at(q, b)\n\n{new}")
    same(program, new, DATA)
    check_same_compiled(program, new, DATA, "y")


def test_loops_and_statements_move():
    program = chain(before=SUM)
    result = valid(compute_at, program, declared(program, "q"), loop(program, "s"))
    assert result.forwarding.loops[loop(program, "t")] == (loop(program, "t"),)
    assert result.forwarding.labels[label(program, "q.init")] == (label(program, "q.init"),)
    result = valid(compute_at, program, declared(program, "q"), loop(program, "i", 1))
    assert "q_part = local(float32[3, 2])" in body(result.program)
    same(program, result.program, DATA)


def test_one_element():
    """A loop of the nest of which one iteration is read is none any more."""
    program = chain(after=BLOCKS.replace(" + q[b * 4 + s + 2, i + 1]", ""))
    result = valid(compute_at, program, declared(program, "q"), loop(program, "i", 1))
    assert result.forwarding.loops[loop(program, "t")] == ()
    assert "q_part[()]: q = x[b * 4 + s, i] * 2.0 + x[b * 4 + s + 1, i]" in body(result.program)
    same(program, result.program, DATA)


def test_what_is_read_under_a_condition_is_computed_where_it_holds():
    rows = "q[t - 1, i] if t >= 1 else 0.0"
    after = f"for t in serial(n):\n    for i in serial(8):\n        y[t, i] = q[t + 1, i] + ({rows})\n"
    program = chain(after=after)
    new = valid(compute_at, program, declared(program, "q"), loop(program, "t", 1)).program
    assert "for t_1 in serial(t - max(t - 1, 0) + 2)" in body(new)
    same(program, new, DATA)
    check_same_compiled(program, new, DATA, "y")


def test_each_tail_of_a_split():
    after = "for t in parallel(n):\n    for i in serial(8):\n        y[t, i] = q[t, i] + q[t + 2, i]\n"
    for tail in (Tail.GUARD, Tail.SHORT):
        program = chain(before=SUM, after=after)
        new = split(program, loop(program, "t", 1), 4, tail).program
        new = valid(compute_at, new, declared(new, "q"), loop(new, "t_o")).program
        same(program, new, DATA)


def test_temporaries_of_one_element_move_along():
    before = (
        SUM.replace("q[t, i]", "z[t, i]").replace("q.init", "z.init") + "        q[t, i] = z[t, i] * 0.5\n"
    )
    program = chain(before=before)
    new = valid(compute_at, program, declared(program, "q"), loop(program, "b")).program
    assert "z = local(float32[()])" in body(new) and "workspace" not in str(new)
    same(program, new, DATA)
    check_same_compiled(program, new, DATA, "y")
    across = chain(before=before.replace("= z[t, i] * 0.5", "= z[t, i] * z[0, i]"))
    message = refused(compute_at, across, declared(across, "q"), loop(across, "b"))
    assert "because: its nest writes 'z' too" in message


def test_chains():
    """What is computed in a loop may be computed of what is computed there."""
    before = "for t in parallel(2 * n + 8):\n    for i in serial(12):\n        z[t, i] = x[t, i] + 1.0\n"
    program = chain(before=before + SUM.replace("x[t + k, i]", "z[t + k, i]"))
    new = valid(compute_at, program, declared(program, "q"), loop(program, "b")).program
    new = valid(compute_at, new, declared(new, "z"), loop(new, "b")).program
    assert "z_part = local(float32[8, 9])" in body(new) and "workspace" not in str(new)
    same(program, new, DATA)
    check_same_compiled(program, new, DATA, "y")


def drawn(draw):
    """Return a chain with reads of random strides, distances and conditions, and a loop of it."""
    block, stride, width = draw.choice((1, 3, 4)), draw.choice((1, 1, 2)), draw.choice((4, 8))
    reads = []
    for _ in range(draw.randint(1, 3)):
        row = f"{stride} * (b * {block} + s) + {draw.randint(0, 4)}"
        column = draw.choice(("i", "i", f"i + {draw.randint(0, 4)}", "2 * i", "7", "k + i"))
        read = f"q[{row}, {column if width == 4 or '2' not in column else 'i'}]"
        if draw.random() < 0.3:
            read = f"(q[{row.removesuffix(row[row.rindex('+') :])} - 2, i] if b * {block} + s >= 2 else 0.5)"
        reads.append(read)
    value = " + ".join(reads)
    lines = [
        "y[b * {0} + s, i]: y.init = 0.0",
        "for k in serial(2):",
        f"    y[b * {{0}} + s, i] += {value} * w[k]",
    ]
    inner = "\n".join(f"            {line.format(block)}" for line in lines)
    runs = draw.choice((f"min({block}, n - b * {block})", f"{block}"))
    if runs == f"{block}":
        inner = f"            if b * {block} + s < n:\n" + "\n".join(
            f"    {line}" for line in inner.splitlines()
        )
    after = (
        f"for b in parallel((n + {block - 1}) // {block}):\n    for s in serial({runs}):\n"
        f"        for i in serial({width}):\n{inner}\n"
    )
    return chain(before=draw.choice((NEST, SUM)), after=after), draw.choice(("b", "s", "i", "k"))


def test_random_chains():
    accepted, refusals = 0, set()
    for seed in range(150):
        program, name = drawn(random.Random(seed))
        verify(program)
        nth = 1 if name == "i" or (name == "k" and "k in serial(3)" in str(program)) else 0
        try:
            new = valid(compute_at, program, declared(program, "q"), loop(program, name, nth)).program
        except ScheduleError as error:
            refusals.add(error.because)
            continue
        accepted += 1
        same(program, new, DATA)
        if seed % 10 == 0:
            check_same_compiled(program, new, DATA, "y")
    assert accepted >= 60 and refusals, (accepted, refusals)


def refusal(because, fix=None, where="b"):
    text = f"compute_at: cannot compute 'q' in loop '{where}'\n  because: {because}"
    return text if fix is None else f"{text}\n  fix: {fix}"


INSIDE = f"{NEST}barrier(team)\n{BLOCKS}".replace("parallel", "serial")
TEAM = "for v in team(workers):\n" + "".join(f"    {line}\n" for line in INSIDE.splitlines())
HERE = "name a loop around all that reads it"
SUMS = "reorder the loops, so that sums are innermost"
EARLIER = "move it before other steps, or fission its nest"
REFUSED = {
    "an output": (
        {"role": "output"},
        refusal(
            "its role is 'output': it lives on, and others may read it", "name a workspace or a local buffer"
        ),
    ),
    "another reader": (
        {"after": BLOCKS + "for i in serial(8):\n    y[0, i]: last = q[0, i]\n"},
        refusal("'last' reads it outside of that loop", HERE),
    ),
    "a loop of lanes": (
        {"after": "for b in vectorized(8):\n    y[0, b] = q[0, b]\n"},
        refusal(
            "the loop 'b' is vectorized: its iterations are lanes and hold no buffers",
            "name a loop around it, or vectorize afterwards",
        ),
    ),
    "no reader": ({"after": BLOCKS.replace("q[", "z[")}, refusal("nothing reads it", HERE)),
    "several nests": (
        {
            "before": "q[0, 0]: one = 1.0\nq[0, 0]: two = 2.0\n",
            "after": BLOCKS.replace("q[b * 4 + s, i]", "q[0, 0]"),
        },
        refusal("several nests write it", "compute_at what one nest computes"),
    ),
    "two nests": (
        {"before": NEST + NEST.replace("2.0", "3.0")},
        refusal(
            "it is not written by one store, or one reduction with its first value",
            "compute_at what one nest computes",
        ),
    ),
    "two stores": (
        {"before": NEST + "        q[t, 0]: again = 0.0\n"},
        refusal(
            "it is not written by one store, or one reduction with its first value",
            "compute_at what one nest computes",
        ),
    ),
    "another result": (
        {
            "before": NEST + "        z[t, i] = 1.0\n",
            "after": BLOCKS.replace("q[b * 4 + s, i]", "q[b * 4 + s, i] * z[b, i]"),
        },
        refusal("its nest writes 'z' too", EARLIER),
    ),
    "another output": (
        {"before": NEST + "        u[t, i] = 1.0\n", "more": "u: output(float32[2 * n + 6, 12])\n"},
        refusal("its nest writes 'u' too", EARLIER),
    ),
    "the loop itself": (
        {
            "before": "",
            "after": "for b in parallel(n):\n    for i in serial(12):\n        q[b, i] = 2.0 * x[b, i]\n"
            "    for i in serial(12):\n        y[b, i] = q[b, i]\n",
        },
        refusal("that loop computes it already", "fission that loop first"),
    ),
    "a condition": (
        {"before": NEST.replace("        q[t", "        if t > 0:\n            q[t")},
        refusal("its nest holds checks, conditions, local buffers or barriers", EARLIER),
    ),
    "lanes": (
        {"before": NEST.replace("i in serial", "i in vectorized")},
        refusal("its loop 'i' is vectorized", EARLIER),
    ),
    "indices": (
        {"before": NEST.replace("q[t, i]", "q[t // 2, i]")},
        refusal(
            "which elements its nest stores is not known: its indices are no sums of multiples of its loops, or it "
            "stands under a condition",
            "compute it in the loops around first, those over the rows that it has in common with what reads it",
        ),
    ),
    "again": (
        {"before": NEST.replace("q[t, i]", "q[t, 3]")},
        refusal("loop 'i' of its nest stores the same elements again", SUMS),
    ),
    "a sum outside": (
        {"before": "for k in serial(3):\n" + "\n".join(f"    {line}" for line in NEST.splitlines())},
        refusal("loop 'k' of its nest stores the same elements again", SUMS),
    ),
    "beyond the nest": (
        {"before": NEST.replace("2 * n + 6):", "n + 1):")},
        refusal("'y': it is not sure that the nest stored what it reads, in the same loops"),
    ),
    "changed": (
        {"before": NEST.replace("x[", "z["), "after": "for i in serial(12):\n    z[0, i] = 1.0\n" + BLOCKS},
        refusal("'z', which its nest reads, is written before that loop ends"),
    ),
    "an index that changes": (
        {
            "after": BLOCKS.replace("q[b * 4 + s, i]", "q[g[0] % 6, i]"),
            "more": "g: workspace(int64[1])\n",
        },
        refusal("'y': what its index is made of may change"),
    ),
    "a barrier": (
        {"before": TEAM, "after": "", "more": "workers: input()\n"},
        refusal("workers meet at a barrier between its nest and that loop"),
    ),
    "extents": (
        {"before": NEST.replace("i in serial(12)", "i in serial(max(t, 12))")},
        refusal("the extent of 'i' varies in the region that is read"),
    ),
    "no size": (
        {
            "after": BLOCKS.replace("q[b * 4 + s, i]", "q[s, i]")
            .replace("q[b * 4 + s + 2,", "q[s + 2,")
            .replace("min(4, n - b * 4)", "n")
        },
        refusal(
            "its region along 't' has no largest size: loop 's' may run any number of times",
            "split the loop 's', and name the loop over blocks",
        ),
    ),
    "no distance": (
        {"after": BLOCKS.replace("q[b * 4 + s + 2, i + 1]", "q[b + s, i]")},
        refusal(
            "it is read at iterations of 't' that have no known distance",
            "name a loop in which one of them is read",
        ),
    ),
    "no multiples": (
        {"after": BLOCKS.replace("q[b * 4 + s + 2, i + 1]", "q[b * 4 + s // 2, i]")},
        refusal(
            "'y' reads it at iterations of 't' that are no sum of multiples of the variables of loops inside, with "
            "extents that are known where the region is computed",
            "name a loop further inside",
        ),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    changes, message = REFUSED[case]
    program = chain(**changes)
    verify(program)
    assert refused(compute_at, program, declared(program, "q"), loop(program, "b")) == message
