"""Programs with temporaries for each node, and what contracting their storage is held to."""

from textwrap import indent

import numpy as np

from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.passes.contract_storage import contract_storage

NODES = """\
program("nodes")

count: input()
flag: input() = facts(0 <= flag < 2)
workers: call()
start: input(m < 3) = facts(0 <= start(m) < 5)
x: payload(float32[count, 8])
t: workspace({dtype}[count, {width}])
u: {other}
y: output(float32[count, 8])

with kernel:
"""


def nodes(body, *, dtype="float32", width="8", other="workspace(float32[count, 8])"):
    """Return a program with a temporary `t` for each node, and perhaps another, `u`."""
    return parse(NODES.format(dtype=dtype, width=width, other=other) + indent(body, "    ") + "\n")


def data(count, flag=0):
    random = np.random.default_rng(count)
    x = random.standard_normal((count, 8)).astype(np.float32)
    return {"count": count, "flag": flag}, {"x": x, "start": np.array([0, 4, 2], np.int32)}


def contracted(program, workers=2):
    """Contract, check that it is valid, prints, and computes the same; return the text."""
    before = to_text(program)
    result = contract_storage(program)
    assert to_text(program) == before
    verify(result.program)
    text = to_text(result.program)
    assert to_text(parse(text)) == text
    assert all(new == (old,) for old, new in result.forwarding.labels.items())
    for seed, (sizes, arrays) in enumerate(data(count, flag) for count in (0, 1, 3) for flag in (0, 1)):
        want = interpret(program, sizes, arrays, seed=seed, workers=workers)["y"]
        got = interpret(result.program, sizes, arrays, seed=seed + 1, workers=workers)["y"]
        np.testing.assert_array_equal(got, want)
    return text


def declared(text):
    """Return the declarations of temporaries that are left."""
    return [line.strip() for line in text.splitlines() if "workspace(" in line and not line.startswith("u:")]


def local(text):
    return sorted({line.strip() for line in text.splitlines() if "local(" in line})
