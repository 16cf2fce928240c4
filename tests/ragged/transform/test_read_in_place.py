"""read_in_place: rows of payloads wherever callers have them."""

import numpy as np
import pytest

from ragged.codegen.build import compile_program
from ragged.errors import DataError
from ragged.ir.interpret import interpret
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.split import split
from ragged.transform.mapping.parallel import parallel
from ragged.transform.mapping.vectorize import vectorize
from ragged.transform.storage.read_in_place import read_in_place
from tests.ragged.transform.data_support import declared
from tests.ragged.transform.support import accepted, body, loop, refused

ROWS = """\
program("rows")

count: input()
left: input(n < count) = facts(0 <= left(n) < count)
x: payload(float32[count, 2, 8])
bias: parameter(float32[8])
y: output(float32[count, 2, 8])

with kernel:
    for n in serial(count):
        for i in serial(2):
            for j in serial(8):
                y[n, i, j] = x[n, i, j] * bias[j] + x[left(n), 1 - i, j]
"""
NAMES = ("begin_of_x", "size_of_x")


def scattered(count, seed):
    """Return data, and the same with rows of x somewhere in more memory, in any order, some in one another."""
    draw = np.random.default_rng(seed)
    memory = draw.standard_normal(16 * count + 40, np.float32)
    begin = draw.integers(0, len(memory) - 15, count)
    x = memory[begin[:, None] + np.arange(16)].reshape(count, 2, 8)
    others = {
        "left": draw.integers(0, max(count, 1), count, np.int32),
        "bias": draw.standard_normal(8, np.float32),
    }
    sizes = {"count": count}
    return (sizes, {**others, "x": x}), (
        {**sizes, "size_of_x": len(memory)},
        {**others, "x": memory, "begin_of_x": begin},
    )


def compiled(program, data):
    """Return what a program's machine code computes."""
    sizes, arrays = data
    entries = compile_program(program).entries
    kinds = [kind for kind in (StageKind.PRELUDE, StageKind.KERNEL) if kind in entries]
    return Caller([entries[kind] for kind in kinds], {})({**sizes, **arrays})


def step(old):
    schedule = LoopSchedule(old)
    schedule.apply(read_in_place, schedule.buffer("x"), *NAMES)
    return schedule


def test_text(golden):
    old = parse(ROWS)
    new = accepted(read_in_place, old, declared(old, "x"), *NAMES).program
    checked = step(old).checked()
    golden("read_in_place.txt", f"{old}\nread_in_place(x, 'begin_of_x', 'size_of_x')\n\n{checked}")
    assert body(checked) == body(new)


def scheduled(old):
    """Return the program with rows in any order, and elements in vectors."""
    schedule = LoopSchedule(old)
    schedule.apply(parallel, loop(old, "n"))
    schedule.apply(split, loop(schedule.program, "j"), 4)
    schedule.apply(vectorize, loop(schedule.program, "j_i"))
    return schedule.program


@pytest.mark.parametrize("count", [0, 1, 2, 5, 40])
def test_results(count):
    old = parse(ROWS)
    whole, apart = scattered(count, count)
    expected = interpret(old, *whole)["y"]
    for program in (old, scheduled(old)):
        new = step(program).checked()
        np.testing.assert_array_equal(interpret(new, *apart, seed=1)["y"], expected)
        np.testing.assert_array_equal(compiled(new, apart)["y"], compiled(program, whole)["y"])


@pytest.mark.parametrize(("place", "wrong"), [(3, -1), (0, 105), (4, 1 << 40)])
def test_rows_outside_of_the_memory_are_refused(place, wrong):
    old = parse(ROWS)
    _, (sizes, arrays) = scattered(5, 0)
    arrays["begin_of_x"][place] = wrong
    with pytest.raises(DataError, match=rf"begin_of_x\({place}\) = {wrong} is not in \[0, 105\)"):
        compiled(step(old).checked(), (sizes, arrays))


def test_a_row_of_no_elements():
    schedule = LoopSchedule(parse(ROWS.replace("x: payload", "e: payload(float32[count, 0])\nx: payload")))
    schedule.apply(read_in_place, schedule.buffer("e"), "begin_of_e", "size_of_e")
    assert "facts(0 <= begin_of_e(n) < size_of_e + 1)" in str(schedule.program)


def test_it_is_replayed():
    old = parse(ROWS)
    schedule, again = step(old), LoopSchedule(old)
    exec(schedule.log(), {"s": again, "read_in_place": read_in_place})
    assert str(again.program) == str(schedule.program)


WHAT = "read_in_place: cannot read rows of '{}' where they are\n"
NO_ROWS = (
    "  because: they are not elements one after another, the same number in each\n"
    "  fix: name a payload with rows of constant extents, in the order of its dimensions"
)


def test_refusals():
    old = parse(ROWS)
    assert refused(read_in_place, old, declared(old, "y"), *NAMES) == (
        WHAT.format("y") + "  because: its role is 'output': no caller has the rows\n  fix: name a payload"
    )
    for rows in ("float32[count, 2, 8], order=(1, 0, 2)", "float32[count, count, 8]"):
        other = parse(ROWS.replace("x: payload(float32[count, 2, 8])", f"x: payload({rows})"))
        assert refused(read_in_place, other, declared(other, "x"), *NAMES) == WHAT.format("x") + NO_ROWS
    scalar = parse(ROWS.replace("x: payload", "z: payload(float32[count])\nx: payload"))
    assert refused(read_in_place, scalar, declared(scalar, "z"), *NAMES) == WHAT.format("z") + NO_ROWS
    assert refused(read_in_place, old, declared(old, "x"), "left", "size") == (
        "read_in_place: 'left' is the name of something else here\n  fix: choose another name"
    )
