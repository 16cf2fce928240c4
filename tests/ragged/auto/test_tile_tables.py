"""Tiles for the products of the bind stage: which are tiled, what they become, and that no bit changes."""

import numpy as np
import pytest

from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.tile_tables import tile_tables
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import StageKind
from ragged.ir.verify import verify
from ragged.machine import Machine
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.schedule.loop_schedule import LoopSchedule
from tests.ragged.transform.data_support import same_compiled

SMALL = Machine(vector_bytes=16, vector_registers=16, cores=1, l1_bytes=32 * 1024, l2_bytes=256 * 1024)

TABLE = """\
program("table")

count: input()
word: payload(n < count) = facts(0 <= word(n) < {rows})
W: parameter(float32[{columns}, 5])
emb: parameter(float32[{rows}, 5])
b: parameter(float32[{columns}])
T: bound(float32[{rows}, {columns}])
y: output(float32[count, {columns}])

with bind:
    for v in serial({rows}):
        for i in serial({columns}):
            T[v, i] = 0.0
            for j in serial(5):
                T[v, i] += W[i, j] * emb[v, j]
        for i in serial({columns}):
            T[v, i] = (T[v, i] + b[i]) * b[i]

with kernel:
    for n in parallel(count):
        for i in serial({columns}):
            y[n, i] = T[word(n), i] + W[i, 0]
"""


def tiled(rows, columns):
    program = parse(TABLE.format(rows=rows, columns=columns))
    schedule = LoopSchedule(program)
    tile_tables(schedule, SMALL)
    verify(schedule.program)
    return program, schedule


def data(rows, columns):
    rng = np.random.default_rng(rows * columns)
    arrays = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in {"W": (columns, 5), "emb": (rows, 5), "b": (columns,)}.items()
    }
    return [({"count": 7}, {**arrays, "word": rng.integers(0, rows, 7).astype(np.int32)})]


def test_text(golden):
    _, schedule = tiled(9, 8)
    text = to_text(schedule.program)
    golden("tile_tables.txt", f"{text[text.index('with bind') :]}\n{schedule.log()}\n")


@pytest.mark.parametrize(("rows", "columns"), [(8, 16), (9, 8), (11, 5), (4, 23)])
def test_no_bit_changes(rows, columns):
    program, schedule = tiled(rows, columns)
    assert "W_packed_first" in schedule.log() and "unrolled" in str(schedule.program)
    old, new = (fuse_multiply_add(each).program for each in (program, schedule.program))
    for sizes, arrays in data(rows, columns):
        want, got = (interpret(each, sizes, arrays)["y"] for each in (old, new))
        np.testing.assert_array_equal(got, want)
    same_compiled(old, new, data(rows, columns))


def test_what_has_few_rows_stays():
    program, schedule = tiled(3, 16)
    assert schedule.log() == "s.apply(fission, s.loop('v'), s.loop('i', 0))"
    alone = to_text(program).replace("emb[v, j]", "emb[0, j]").replace("T[v, i]", "T[0, i]")
    schedule = LoopSchedule(parse(alone.replace("    for v in serial(3):\n", "    for v in serial(1):\n")))
    tile_tables(schedule, SMALL)
    assert "split" not in schedule.log()


def test_it_is_in_the_default_schedule():
    program = parse(TABLE.format(rows=9, columns=8))
    new = DefaultSchedule(SMALL)(program)
    assert any("W_packed_first" in note for note in new.notes)
    bind = new.program.stage(StageKind.BIND)
    assert bind is not None and "vectorized" in to_text(new.program).partition("with kernel")[0]
