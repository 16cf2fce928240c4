"""cache_read of random loops that read a buffer through several functions, and write it here and there."""

from __future__ import annotations

import random

import numpy as np

from ragged.errors import ScheduleError
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.verify import verify
from ragged.transform.storage.cache_read import cache_read
from tests.ragged.transform.data_support import declared, same, valid
from tests.ragged.transform.support import Data, loop

LOOPS = """\
program("loops")

count: input()
up: input(n < count) = facts(n + 1 <= up(n) < count + 3)
any: input(n < count) = facts(0 <= any(n) < count + 3)
low: input(n < count) = facts(0 <= low(n) < n + 1)
h: {role}(float32[count + 4, 8])
y: output(float32[count, 8])

with kernel:
    for a in serial(count + 4):
        for i in serial(8):
            h[a, i]: h.init = float32(a * 8 + i)
    for k in serial(count):
        n = count - 1 - k
{body}
    for a in serial(count):
        for i in serial(8):
            y[a, i]: y.last = y[a, i] + h[a, i]
"""
ROWS = ("n", "n + 1", "up(n)", "up(n) + 1", "any(n)", "any(n) + 1", "low(n)", "count + 3")


def drawn(draw: random.Random) -> str:
    """Return a program of one to three nests; each reads some rows of `h`, and writes `y` or a row of `h`."""
    few = draw.sample(ROWS, draw.randint(1, 3))
    nests = ["for i in serial(8):\n    y[n, i]: y.first = 0.0"]
    for number in range(draw.randint(1, 3)):
        width = draw.choice((4, 8, 8))
        shift = draw.choice(("", " + 2")) if width == 4 else ""
        reads = " + ".join(f"h[{draw.choice(few)}, i{shift}]" for _ in range(draw.randint(1, 2)))
        if draw.random() < 0.2:
            reads = f"({reads} if any(n) < 2 else 1.0)"
        target = "y[n" if draw.random() < 0.7 else f"h[{draw.choice(ROWS)}"
        name = f"{target[0]}.nest{number}"
        nests.append(f"for i in serial({width}):\n    {target}, i]: {name} = {reads} * 0.5 + 1.0")
    body = "\n".join(f"        {line}" for nest in nests for line in nest.splitlines())
    return LOOPS.format(role=draw.choice(("output", "workspace")), body=body)


def data(count: int, seed: int) -> Data:
    rng = np.random.default_rng(seed)
    arrays = {
        "up": np.array([rng.integers(n + 1, count + 3) for n in range(count)], np.int32),
        "any": rng.integers(0, count + 3, count).astype(np.int32),
        "low": np.array([rng.integers(0, n + 1) for n in range(count)], np.int32),
    }
    return {"count": count}, arrays


def test_what_is_accepted_computes_the_same():
    accepted = refused = several = 0
    for seed in range(120):
        draw = random.Random(seed)
        program = parse(drawn(draw))
        verify(program)
        try:
            new = valid(cache_read, program, declared(program, "h"), loop(program, "k")).program
        except ScheduleError:
            refused += 1
            continue
        accepted += 1
        several += "h_way" in to_text(new)
        same(program, new, [data(count, seed) for count in (0, 1, 2, 5)])
    assert accepted > 25 and refused > 25 and several > 8, (accepted, refused, several)
