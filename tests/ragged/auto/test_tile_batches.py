"""Iterations computed together: the text, the bits, and what is left alone."""

from dataclasses import replace

import numpy as np
import pytest

from ragged.auto.default_schedule import DefaultSchedule
from ragged.auto.options import ScheduleOptions
from ragged.auto.tile_batches import tile_batches
from ragged.ir.buffer_size import MAX_FRAME_BYTES, frame_bytes
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.verify import verify
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule

SMALL = Machine(vector_bytes=16, vector_registers=16, cores=1, l1_bytes=32 * 1024, l2_bytes=256 * 1024)

CELL = """\
program("cell")

count: input()
U: parameter(float32[{hidden}, {hidden}])
v: payload(float32[count, {hidden}])
y: output(float32[count, {hidden}])

with kernel:
    for n in serial(count, N):
        node = count - 1 - n
        x = local(float32[{hidden}])
        t = local(float32[{hidden}])
        for i in serial({hidden}):
            x[i] = tanh(v[node, i])
        for i in serial({hidden}):
            t[i] = 0.0
            for j in serial({hidden}):
                t[i] += U[i, j] * x[j]
        for i in serial({hidden}):
            y[node, i] = tanh(t[i])
"""


def data(count, hidden):
    random = np.random.default_rng(count)
    shapes = {"U": (hidden, hidden), "v": (count, hidden)}
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return {"count": count}, arrays


def together(text):
    schedule = LoopSchedule(parse(text))
    tile_batches(schedule, SMALL)
    verify(schedule.program)
    return schedule


def test_text(golden):
    schedule = together(CELL.format(hidden=8))
    golden("cell_together.txt", f"{schedule.program}\n{schedule.log()}\n")


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 7, 8, 9])
def test_no_bit_changes(count):
    text = CELL.format(hidden=6)
    sizes, arrays = data(count, 6)
    want = interpret(parse(text), sizes, arrays)["y"]
    np.testing.assert_array_equal(interpret(together(text).program, sizes, arrays)["y"], want)
    whole = DefaultSchedule(SMALL)(parse(text)).program
    verify(whole)
    np.testing.assert_array_equal(interpret(whole, sizes, arrays)["y"], want)


def test_iterations_that_depend_on_each_other_stay_apart():
    text = CELL.format(hidden=6).replace(
        "tanh(v[node, i])", "y[node + 1, i] if node + 1 < count else v[node, i]"
    )
    assert together(text).log() == ""


def test_temporaries_that_are_too_large_stay_apart():
    assert together(CELL.format(hidden=4096)).log() == ""


def test_loops_of_known_extent_are_left_to_tiles():
    text = CELL.format(hidden=6).replace("serial(count, N)", "serial(3, N)").replace("count - 1 - n", "2 - n")
    assert together(text).log() == ""


@pytest.mark.parametrize(
    ("hidden", "registers", "rows", "steps"), [(64, 32, 4, 4), (60, 32, 4, 1), (96, 32, 6, 4), (96, 16, 4, 4)]
)
def test_rows_and_steps_follow_the_matrix(hidden, registers, rows, steps):
    """A matrix of 96 x 96 is more than a first cache of 32 KiB: more rows take from each read of it."""
    machine = replace(SMALL, vector_registers=registers)
    log = DefaultSchedule(machine)(parse(CELL.format(hidden=hidden))).notes
    assert f"s.apply(split, s.loop('n'), {rows}, Tail.PEEL)" in log
    assert ("s.apply(split, s.loop('j'), 4, Tail.PEEL)" in log) == (steps == 4)


@pytest.mark.parametrize(
    ("columns", "l1_bytes", "l2_bytes", "rows"),
    [
        (8, 9216, 1024, 12),
        (4, 9216, 1024, 12),
        pytest.param(16, 512, 1024, 6, id="many_columns"),
        pytest.param(8, 512, 8192, 6, id="small_matrix"),
        pytest.param(8, 512, 1024, 6, id="large_rows"),
    ],
)
def test_more_rows_where_a_slice_of_a_large_matrix_has_few_columns(columns, l1_bytes, l2_bytes, rows):
    """So many bytes are read again for each few rows; a tile of few columns has registers for more of these.

    And the first cache for them: twelve rows of 96 numbers are 4,608 bytes, and have half of it.
    """
    machine = replace(SMALL, vector_registers=32, l1_bytes=l1_bytes, l2_bytes=l2_bytes)
    text = CELL.format(hidden=96).replace(
        "U: parameter(float32[96, 96])", f"U: parameter(float32[{columns}, 96])"
    )
    text = text.replace("t = local(float32[96])", f"t = local(float32[{columns}])")
    text = text.replace("96):\n            t[i]", f"{columns}):\n            t[i]")
    text = text.replace("t[i])", f"t[i % {columns}])")
    log = DefaultSchedule(machine)(parse(text)).notes
    assert f"s.apply(split, s.loop('n'), {rows}, Tail.PEEL)" in log


def test_fewer_iterations_where_temporaries_have_no_room():
    options = ScheduleOptions(max_stack_bytes=5 * 96 * 4 * 2)
    log = DefaultSchedule(replace(SMALL, vector_registers=32), options=options)(
        parse(CELL.format(hidden=96))
    ).notes
    assert "s.apply(split, s.loop('n'), 4, Tail.PEEL)" in log


def over_batches(hidden, *outputs):
    """Return a program with the nest of `CELL` in a loop over batches, once for each output."""
    head, body = CELL.format(hidden=hidden).split("    for n in serial(count, N):\n")
    outer = "    for b in serial(count, B):\n        for n in serial(count, N):\n"
    nest = outer + "".join(f"    {line}\n" for line in body.splitlines())
    declared = head[head.index("y: ") : head.index("\nwith")]
    head = head.replace(declared, "".join(declared.replace("y: ", f"{name}: ") for name in outputs))
    return head + "".join(nest.replace("y[", f"{name}[") for name in outputs)


@pytest.mark.parametrize(("hidden", "rows"), [(2048, (4, 3)), (2560, (4,)), (3072, (4,))])
def test_fewer_iterations_where_what_is_left_over_has_no_room(hidden, rows):
    schedule = together(over_batches(hidden, "y", "z"))
    tiles = [
        int(line.split()[-2].rstrip(",")) for line in schedule.log().splitlines() if "apply(split" in line
    ]
    assert tuple(tiles) == rows
    each = (
        2 * 4 * hidden
    )  # of a tile's rows, of one fewer that are left over, or of one row where there are no tiles
    frames = sum(2 * count - 1 for count in (*rows, 1)[:2])
    assert frame_bytes(schedule.program.kernel) == each * frames <= MAX_FRAME_BYTES * 3 // 4


def test_lengths_share_what_stands_beside_sums(golden):
    """Sums have a copy for each number of rows left over; what is read and written around them is one code for all."""
    schedule = together(over_batches(8, "y"))
    text = str(schedule.program)
    golden("cell_by_length.txt", f"{text[text.index('with kernel') :]}\n{schedule.log()}\n")


@pytest.mark.parametrize("count", [0, 1, 3, 4, 6])
def test_lengths_change_no_bit(count):
    sizes, arrays = data(count, 6)
    text = over_batches(6, "y")
    want = interpret(parse(text), sizes, arrays)["y"]
    np.testing.assert_array_equal(interpret(together(text).program, sizes, arrays)["y"], want)


@pytest.mark.parametrize(("columns", "rows"), [(4, 8), (8, 8), (16, 4)])
def test_more_rows_of_few_vectors_where_rows_meet_rows_of_others(columns, rows):
    """Keys of a sequence and a few of its queries, as in attention: one vector of queries has keys enough beside it."""
    text = f"""\
program("scores")

count: input()
k: payload(float32[count, 64])
q: parameter(float32[64, {columns}])
s: output(float32[count, {columns}])

with kernel:
    own = local(float32[64, {columns}])
    for d in serial(64):
        for w in serial({columns}):
            own[d, w] = q[d, w] * 0.125
    for u in serial(count, key):
        for w in serial({columns}):
            s[u, w] = 0.0
            for d in serial(64):
                s[u, w] += k[u, d] * own[d, w]
"""
    log = DefaultSchedule(SMALL)(parse(text)).notes
    assert f"s.apply(split, s.loop('u'), {rows}, Tail.PEEL)" in log
