"""Steps that move data, drawn at random: what is accepted changes no bit, what is refused is refused in words."""

import random

import pytest

from ragged.analysis.buffers import all_buffers
from ragged.errors import ScheduleError
from ragged.ir.expr import Role
from ragged.ir.parser import parse
from ragged.ir.rewrite import labels_of, loops_of
from ragged.transform.code.inline import inline
from ragged.transform.loops.fission import fission
from ragged.transform.loops.fuse_siblings import fuse_siblings
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.cache_read import cache_read
from ragged.transform.storage.cache_write import cache_write
from ragged.transform.storage.concat_buffers import concat_buffers
from ragged.transform.storage.expand_storage import expand_storage
from ragged.transform.storage.pack import pack
from tests.ragged.transform.data_programs import GATES, PRODUCT, data
from tests.ragged.transform.data_support import same, same_compiled, valid
from tests.ragged.transform.programs import TREE
from tests.ragged.transform.support import TREE_DATA

CELL = """\
program("cell")

count: input()
child: input(n < count) = facts(0 <= child(n) < count)
U: parameter(float32[6, 6])
V: parameter(float32[6, 6])
x: payload(float32[count, 6])
UV: workspace(float32[6, 6])
r: workspace(float32[count, 6])
s: workspace(float32[6])
y: output(float32[count, 6])

with kernel:
    for i in serial(6):
        for j in serial(6):
            UV[i, j] = U[i, j] - V[j, i]
    for n in serial(count):
        for i in serial(6):
            r[n, i] = x[child(n), i] + x[n, i]
        g = local(float32[6])
        for i in serial(6):
            s[i] = r[n, i] * 2.0
        for i in serial(6):
            g[i]: g.init = 0.0
            for j in serial(6):
                g[i] += UV[i, j] * s[j]
        for i in serial(6):
            r[n, i]: r.more = g[i] + s[5 - i]
        for i in serial(6):
            y[n, i] = r[n, i] + (y[n - 1, i] if 0 < n else 0.0)
"""


def cell_data():
    return [
        (sizes, {**arrays, "child": random_children(sizes["count"])})
        for sizes, arrays in data(CELL, (0, 1, 4))
    ]


def random_children(count):
    import numpy as np

    return np.random.default_rng(count).integers(0, max(count, 1), count).astype(np.int32)


CASES = {"product": (PRODUCT, data(PRODUCT)), "gates": (GATES, data(GATES)), "tree": (TREE, TREE_DATA)}
CASES["cell"] = (CELL, cell_data())


def draw(program, rng):
    """Return a primitive and what it is to be done to."""
    loops, labels, buffers = loops_of(program), labels_of(program), all_buffers(program)
    buffer, loop = rng.choice(buffers), rng.choice(loops)
    local = rng.choice([each for each in buffers if each.role is Role.LOCAL] or buffers)
    known = [each for each in buffers if each.role in (Role.PARAMETER, Role.BOUND)] or buffers
    parameter, factor = rng.choice(known), rng.randint(1, 5)
    rank = len(parameter.shape)
    return rng.choice(
        [
            (split, loop, factor, rng.choice(list(Tail))),
            (cache_write, rng.choice(labels), loop),
            (cache_write, rng.choice(labels), loop),
            (cache_read, buffer, loop),
            (fission, loop, rng.choice([*labels, *loops])),
            (fuse_siblings, loop, rng.choice(loops)),
            (reorder, (rng.choice(loops), loop)),
            (vectorize, loop),
            (expand_storage, local, loop),
            (
                inline,
                rng.choice(
                    [each for each in buffers if each.role in (Role.WORKSPACE, Role.LOCAL)] or buffers
                ),
            ),
            (
                pack,
                parameter,
                f"p{rng.randrange(10**6)}",
                ((0, factor),),
                rng.sample(range(rank + 1), rank + 1),
            ),
            (concat_buffers, rng.sample(known, min(2, len(known))), f"s{rng.randrange(10**6)}"),
        ]
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("case", CASES)
def test_no_step_changes_a_bit(case, seed):
    text, cases = CASES[case]
    program = old = parse(text)
    rng, steps = random.Random(f"{case} {seed}"), 0
    for _ in range(40):
        primitive, *args = draw(program, rng)
        try:
            program = valid(primitive, program, *args).program
        except ScheduleError as error:
            assert error.because or error.fix
            continue
        same(old, program, cases[-1:])
        steps += 1
        if steps == 6:
            break
    same(old, program, cases)
    if case != "tree" and seed < 2:  # its tanh is another function in the interpreter
        same_compiled(old, program, cases)
