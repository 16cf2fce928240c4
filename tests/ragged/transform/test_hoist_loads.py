"""hoist_loads: what does not change in a loop is looked up before it."""

import numpy as np
import pytest

from ragged.ir.parser import parse
from ragged.transform.code.hoist_loads import hoist_loads
from tests.ragged.transform.data_support import same_compiled, valid
from tests.ragged.transform.support import body, check_same, loop, refused

ROWS = """\
program("rows")

rows: input()
offset: input(b < rows + 1) = facts(prefix_sum(n))
n: input(b < rows)
x: payload(float32[offset(rows)])
scale: payload(float32[rows])
y: output(float32[offset(rows)])
z: output(float32[rows])

with kernel:
    for b in serial(rows):
        z[b] = 1.0
        for t in {kind}(n(b)):
            {statement}
"""


def rows(statement, kind="serial"):
    program = parse(ROWS.format(statement=statement, kind=kind))
    return program, loop(program, "t")


def data(lengths):
    offset = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    rng = np.random.default_rng(len(lengths))
    return {"rows": len(lengths)}, {
        "offset": offset,
        "n": np.array(lengths, np.int32),
        "x": rng.standard_normal(offset[-1]).astype(np.float32),
        "scale": rng.standard_normal(len(lengths)).astype(np.float32),
    }


DATA = [data([]), data([0]), data([3, 0, 2])]


PARTS = """\
program("parts")

rows: input()
n: input(b < rows) = facts({facts})
part: workspace(float32[rows])
z: output(float32[rows])

with kernel:
    for b in serial(rows):
        if n(b) > 0:
            part[b] = 2.0
    for b in serial(rows):
        z[b] = 1.0
        for t in serial(n(b)):
            z[b] += part[b]
"""


@pytest.mark.parametrize(
    ("facts", "hoisted"),
    [("0 <= n(b) < 9", "part_b = part[b] if n(b) > 0 else 0.0"), ("1 <= n(b) < 9", "part_b = part[b]\n")],
)
def test_what_may_not_be_written_is_read_only_where_the_loop_runs(facts, hoisted):
    """Found by `make fuzz`: the interpreter read an element that no iteration had written."""
    program = parse(PARTS.format(facts=facts))
    result = valid(hoist_loads, program, loop(program, "t"))
    assert hoisted in body(result.program)
    assert ("check(1 <= n(b)" in str(result.program)) == facts.startswith("1")
    lengths = [3, 0, 2] if facts.startswith("0") else [3, 1]
    check_same(program, result.program, [({"rows": len(lengths)}, {"n": np.array(lengths, np.int32)})])


@pytest.mark.parametrize(
    ("statement", "hoisted"),
    [
        (
            "y[offset(b) + t] = x[offset(b) + t] * scale[b]",
            "offset_b = offset(b)\n        scale_b = scale[b]\n        for t in serial(n(b)):\n"
            "            y[offset_b + t] = x[offset_b + t] * scale_b\n",
        ),
        (
            "z[b] = z[b] + scale[b] * scale[b]",
            "scale_b = scale[b] * scale[b]\n        for t in serial(n(b)):\n            z[b] = z[b] + scale_b\n",
        ),
        ("z[b] = x[t]", None),
        (
            "z[b] = scale[b + 1] if b + 1 < rows else 0.0",
            "scale_1 = scale[b + 1] if b + 1 < rows else 0.0\n        for t in serial(n(b)):\n"
            "            z[b] = scale_1\n",
        ),
    ],
)
def test_what_is_the_same_in_each_iteration(statement, hoisted):
    program, t = rows(statement)
    result = valid(hoist_loads, program, t)
    if hoisted is None:
        assert result.program is program
    else:
        assert hoisted in body(result.program)
    check_same(program, result.program, [] if "x[t]" in statement else DATA)
    if statement.startswith("y["):
        same_compiled(program, result.program, DATA[1:])


def test_lanes_are_refused():
    program, t = rows("z[b] = scale[b]", kind="team")
    assert refused(hoist_loads, program, t) == (
        "hoist_loads: cannot hoist out of loop 't', as it is team\n"
        "  because: its iterations are lanes or workers\n  fix: name a loop around it"
    )
