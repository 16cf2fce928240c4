"""distribute_over_blocks, keep_on_chip and distribute_over_threads: their text, what they compute, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.errors import ScheduleError
from ragged.ir.equal import difference
from ragged.ir.interpret import Race, interpret
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.split import split
from ragged.transform.mapping.distribute_over_blocks import distribute_over_blocks
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from ragged.transform.mapping.distribute_over_threads import distribute_over_threads
from ragged.transform.mapping.parallel import parallel
from ragged.transform.storage.keep_on_chip import keep_on_chip

LAYERS = """\
program("layers")

n: call() = facts(0 <= n < 1000)
rounds: call()
U: parameter(float32[6, 5])
x: payload(float32[n, 6])
h: output(float32[n, 6])
t: workspace(float32[n, 6])
u: workspace(float32[n, 6])

with kernel:
    for i in parallel(6):
        for m in parallel(n):
            h[m, i] = x[m, i]
    for r in serial(rounds):
        for i1 in parallel(6):
            for m1 in parallel(n):
                t[m1, i1] = 0.0
                for j in serial(5):
                    t[m1, i1] += U[i1, j] * h[m1, j + 1]
        for i2 in parallel(6):
            for m2 in parallel(n):
                u[m2, i2] = tanh(t[n - 1 - m2, i2])
        for i3 in parallel(6):
            for m3 in parallel(n):
                h[m3, i3] = u[m3, i3]
"""
"""Phases over columns: the second reads whole rows, the third its own column of other rows; the last one's are read."""


def data(n: int, rounds: int) -> tuple[dict[str, int], dict[str, np.ndarray]]:
    rng = np.random.default_rng(n)
    u, x = rng.standard_normal((6, 5)), rng.standard_normal((n, 6))
    return {"n": n, "rounds": rounds}, {"U": u.astype(np.float32), "x": x.astype(np.float32)}


DATA = [data(0, 2), data(1, 1), data(5, 0), data(5, 3), data(6, 3)]


def shared_out(blocks: int, threads: int, text: str = LAYERS) -> Program:
    schedule = LoopSchedule(parse(text))
    schedule.apply(distribute_over_blocks, blocks)
    schedule.apply(keep_on_chip, schedule.buffer("U"))
    schedule.apply(distribute_over_threads, threads)
    assert difference(schedule.program, parse(to_text(schedule.program))) is None
    replayed = LoopSchedule(parse(text))
    exec(schedule.log(), {**globals(), "s": replayed})
    assert to_text(replayed.program) == to_text(schedule.program)
    return schedule.program


def test_before_and_after(golden):
    blocks = distribute_over_blocks(parse(LAYERS), 4).program
    after = ["# over 4 blocks\n", to_text(blocks), "# and 8 threads, U on chip\n", to_text(shared_out(4, 8))]
    golden("distribute_over_grid.txt", "\n".join([LAYERS, *after]))


def test_a_block_has_the_same_number_of_columns_if_they_can_be_dealt_out_evenly():
    lines = [line.strip() for line in to_text(shared_out(3, 2)).splitlines()]
    assert "U_chip = local(float32[2, 5], scope=shared)" in lines
    assert lines.count("for i1_s in serial(2):") == 1


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_bits_for_any_grid(blocks, threads):
    program = shared_out(blocks, threads)
    for seed, (sizes, arrays) in enumerate(DATA):
        want = interpret(parse(LAYERS), sizes, arrays)["h"]
        np.testing.assert_array_equal(interpret(program, sizes, arrays, seed=seed)["h"], want)


def test_blocks_meet_where_they_read_each_others_columns_and_threads_where_they_read_each_others_rows():
    lines = [line.strip() for line in to_text(shared_out(3, 2)).splitlines()]
    steps = [line for line in lines if line.startswith(("barrier", "for i", "for r", "for e"))]
    assert [line.split(" in ")[0].removeprefix("for ") for line in steps] == [
        *("e_s", "i_s", "r", "barrier(team)", "i1_s", "barrier(block)", "i2_s", "barrier(team)", "i3_s"),
    ]


@pytest.mark.parametrize("fault", ["barrier(team)", "barrier(block)", "barrier(team) for a block's"])
def test_each_barrier_is_needed(fault):
    old = fault.removesuffix(" for a block's")
    text = to_text(shared_out(3, 2)).replace(old, "barrier(block)" if " for " in fault else "pass")
    with pytest.raises(Race):
        for seed in range(4):
            interpret(parse(text), *DATA[-1], seed=seed)


def test_a_phase_without_columns_is_the_threads_of_all_blocks():
    text = LAYERS.replace(
        "        for m in parallel(n):\n            h[m, i]",
        "        for m in serial(n):\n            h[m, i]",
    )
    text = text.replace(
        "for i in parallel(6):\n        for m in serial(n):",
        "for m in parallel(n):\n        for i in serial(6):",
    )
    program = shared_out(3, 2, text)
    assert "for m_s_s in serial((" in to_text(program)
    for seed, (sizes, arrays) in enumerate(DATA):
        want = interpret(parse(LAYERS), sizes, arrays)["h"]
        np.testing.assert_array_equal(interpret(program, sizes, arrays, seed=seed)["h"], want)


def refusal(primitive, program: Program, *args: object) -> str:
    before = to_text(program)
    with pytest.raises(ScheduleError) as error:
        primitive(program, *args)
    assert to_text(program) == before
    return str(error.value)


def buffer(program: Program, name: str):
    return LoopSchedule(program).buffer(name)


def test_refusals_of_blocks():
    what = "distribute_over_blocks: cannot distribute the kernel over blocks"
    assert refusal(distribute_over_blocks, parse(LAYERS), 0) == f"{what}: 0 blocks\n  fix: a number from 1 up"
    serial = parse(LAYERS.replace("parallel", "serial"))
    assert refusal(distribute_over_blocks, serial, 2) == f"{what}\n  because: it has no parallel loop"
    dependent = parse(LAYERS.replace("tanh(t[n - 1 - m2, i2])", "u[m2, 5 - i2]"))
    assert refusal(distribute_over_blocks, dependent, 2).startswith(
        "distribute_over_blocks: the iterations of loop 'i2' are not proven to be independent\n"
        "  at <program>:21\n  because: 'u' may in both iterations touch one element of 'u'\n  example: "
    )


def test_refusals_of_threads():
    what = "distribute_over_threads: cannot distribute the kernel over threads"
    blocks = distribute_over_blocks(parse(LAYERS), 2).program
    assert refusal(distribute_over_threads, blocks, 0) == f"{what}: 0 threads\n  fix: a number from 1 up"
    assert refusal(distribute_over_threads, parse(LAYERS), 2) == (
        f"{what}\n  because: it is no team loop\n  fix: distribute_over_blocks first"
    )
    alone = parse(to_text(blocks).replace("for m in parallel(n):", "for m in serial(n):"))
    assert refusal(distribute_over_threads, alone, 2) == (
        f"{what}\n  at <program>:18\n  because: 'h' stands outside its parallel loops: every thread would execute it"
    )
    kept = keep_on_chip(blocks, buffer(blocks, "U")).program
    own = parse(to_text(kept).replace("scope=shared", "scope=register"))
    assert refusal(distribute_over_threads, own, 2) == (
        f"{what}\n  because: 'U_chip' is on a worker's stack, and the threads of a block share no stack\n"
        "  fix: allocate it in shared memory"
    )


def test_what_is_distributed_is_not_distributed_again():
    blocks = distribute_over_blocks(parse(LAYERS), 2).program
    for primitive, options, runners in (
        (distribute_over_blocks, (3,), "blocks"),
        (distribute_over_team, (), "workers"),
    ):
        assert refusal(primitive, blocks, *options) == (
            f"{primitive.__name__}: cannot distribute the kernel over {runners}\n  because: 'w' is a team loop already"
        )
    threads = distribute_over_threads(blocks, 2).program
    again = parallel(threads, LoopSchedule(threads).loop("m_s", 0)).program
    assert refusal(distribute_over_threads, again, 2) == (
        "distribute_over_threads: cannot distribute the kernel over threads\n  because: 't' is a threads loop already"
    )


def test_other_primitives_leave_the_loop_over_threads_alone():
    program = shared_out(3, 2)
    threads = LoopSchedule(program).loop("t")
    assert refusal(parallel, program, threads) == (
        "parallel: cannot run the iterations of loop 't' at once\n"
        "  because: the iterations of 't' are the threads of a block"
    )
    assert refusal(split, program, threads, 2) == (
        "split: cannot split loop 't', as it is threads\n"
        "  because: its iterations are lanes or workers\n  fix: split first"
    )


def test_refusals_of_what_is_kept():
    what = "keep_on_chip: cannot keep"
    assert refusal(keep_on_chip, parse(LAYERS), buffer(program := parse(LAYERS), "U")).startswith(
        "keep_on_chip: the program has no buffer 'U'"
    )
    assert refusal(keep_on_chip, program, buffer(program, "U")) == (
        f"{what} 'U'\n  because: the kernel is no grid of blocks\n  fix: distribute_over_blocks first"
    )

    def of(text: str, name: str = "U", blocks: int = 2) -> str:
        program = distribute_over_blocks(parse(text), blocks).program
        return refusal(keep_on_chip, program, buffer(program, name)).removeprefix(
            f"{what} '{name}'\n  because: "
        )

    assert of(LAYERS, "x") == "it is no parameter of constant extents"
    assert of(LAYERS.replace("U[i1, j]", "0.5")) == "the kernel does not read it"
    assert of(LAYERS.replace("U[i1, j]", "U[j, i1 * 0]")) == (
        "U[j, i1 * 0] is read where no share of a loop says which part of it is a worker's"
    )
    assert of(LAYERS.replace("float32[6, 5]", "float32[7, 5]")) == (
        "its 7 places of dimension 0 are not 1 for each iteration that is shared out"
    )
    both = LAYERS.replace("float32[6, 5]", "float32[6, 6]").replace("tanh(t", "U[0, i2] * tanh(t")
    assert of(both) == "it is read in several slices, and workers keep one"
    wide = LAYERS.replace("float32[6, 5]", "float32[12, 5]")
    assert of(wide.replace("U[i1, j]", "U[i1, j] * U[i1 * 2, j]")) == (
        "it is read in several slices, and workers keep one"
    )
    below = "(U[i1 * 2 + j % 2 - 1, 0] if i1 + j % 2 > 0 else 0.0)"
    assert of(wide.replace("U[i1, j]", below)) == (
        "U[i1 * 2 + j % 2 - 1, 0] is read where no share of a loop says which part of it is a worker's"
    )
    above = wide.replace("U[i1, j]", "U[i1 * 2 + j % 3, 0]")
    assert of(above).startswith("U[i1 * 2 + j % 3, 0] is read where no share of a loop says")


def test_a_payload_is_kept_too():
    program = distribute_over_blocks(parse(LAYERS.replace("U: parameter", "U: payload")), 2).program
    assert "U_chip[" in to_text(keep_on_chip(program, buffer(program, "U")).program)


def test_a_let_between_a_share_and_a_read_is_seen_through():
    text = LAYERS.replace("            for m1 in", "            c = i1\n            for m1 in").replace(
        "U[i1, j]", "U[c, j]"
    )
    program = distribute_over_blocks(parse(text), 2).program
    kept = keep_on_chip(program, buffer(program, "U")).program
    for sizes, arrays in DATA:
        results = [interpret(each, sizes, arrays)["h"] for each in (program, kept)]
        np.testing.assert_array_equal(*results)


def test_a_loop_with_steps_is_no_share():
    program = parse("""\
program("steps")

U: parameter(float32[12])
y: output(float32[12])

with kernel:
    for w in team(2):
        first = w * 3
        for s in serial(3):
            i = first + 2 * s
            y[i] = U[i]
""")
    assert "U[i] is read where no share of a loop says which part" in refusal(
        keep_on_chip, program, buffer(program, "U")
    )
