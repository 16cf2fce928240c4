"""Blocks of threads in the interpreter: what they compute, and that each planted fault is found."""

from __future__ import annotations

import numpy as np
import pytest

from ragged.errors import InternalError
from ragged.ir.interpret import BarrierDivergence, Race, interpret
from ragged.ir.parser import parse
from ragged.ir.verify import verify

BLOCKS = """\
program("blocks")

x: payload(float32[6])
y: workspace(float32[6])
z: output(float32[6])

with kernel:
    for w in team(2):
        part = local(float32[3], scope=shared)
        for t in threads(3):
            part[t] = x[w * 3 + t]
            for r in serial(w + 1):
                barrier(block)
            y[w * 3 + t] = part[2 - t] * 2.0
            barrier(team)
            z[w * 3 + t] = y[5 - (w * 3 + t)] + part[(t + 1) % 3]
"""
"""Two blocks of three threads. A block turns its part of `x` around in shared memory; then they read each other's."""

X = np.arange(6, dtype=np.float32)


@pytest.mark.parametrize("seed", range(6))
def test_threads_meet_in_their_block_and_blocks_in_the_grid(seed):
    program = parse(BLOCKS)
    verify(program)
    turned = np.array([2, 1, 0, 5, 4, 3], np.float32) * 2.0
    want = turned[::-1] + X[[1, 2, 0, 4, 5, 3]]
    np.testing.assert_array_equal(interpret(program, {}, {"x": X}, seed=seed)["z"], want)


FAULTS = {
    "no barrier of the block": (
        "                barrier(block)\n",
        "                pass\n",
        "part",
        "thread",
    ),
    "no barrier of the grid": ("            barrier(team)\n", "", "y", "worker"),
    "a block's barrier for the grid's": ("barrier(team)", "barrier(block)", "y", "worker"),
    "a share shifted into another block's": ("y[w * 3 + t] =", "y[w * 2 + t] =", "y", "worker"),
    "a share shifted into another thread's": ("y[w * 3 + t] =", "y[w * 3 + t // 2] =", "y", "thread"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_planted_fault_is_a_race(fault, seed):
    old, new, buffer, noun = FAULTS[fault]
    assert BLOCKS.count(old) == 1
    with pytest.raises(Race) as race:
        interpret(parse(BLOCKS.replace(old, new)), {}, {"x": X}, seed=seed)
    assert race.value.buffer == buffer
    assert str(race.value.because).startswith(f"{noun} ")


PARTING = """\
program("p")

with kernel:
    for w in team(2):
        for t in threads(3):
            if {condition}:
                barrier({scope}, label=meet)
"""


@pytest.mark.parametrize(
    ("condition", "scope", "message", "where"),
    [
        (
            "t != 1",
            "team",
            "the block's threads",
            "thread 0 is at 'meet', thread 1 is at the end, thread 2 is at 'meet'",
        ),
        (
            "t == 1",
            "block",
            "the block's threads",
            "thread 0 is at the end, thread 1 is at 'meet', thread 2 is at the end",
        ),
        ("w < 1", "team", "the team's workers", "worker 0 is at 'meet', worker 1 is at the end"),
    ],
)
def test_a_barrier_that_some_miss(condition, scope, message, where):
    program = parse(PARTING.format(condition=condition, scope=scope))
    with pytest.raises(InternalError):
        verify(program)
    with pytest.raises(BarrierDivergence, match=f"{message} diverge at a barrier") as error:
        interpret(program, {}, {})
    assert error.value.example == where


def test_a_barrier_of_one_block_alone_is_none_of_the_others():
    program = parse(PARTING.format(condition="w < 1", scope="block"))
    verify(program)
    interpret(program, {}, {})


def test_threads_without_barriers_end_before_what_follows_them():
    text = """\
program("p")

y: output(float32[2])

with kernel:
    for w in team(2):
        part = local(float32[3], scope=shared)
        for t in threads(3):
            part[t] = float32(t)
        for t in threads(1):
            y[w] = part[0] + part[1] + part[2]
"""
    program = parse(text)
    verify(program)
    assert interpret(program, {}, {})["y"].tolist() == [3.0, 3.0]


def test_a_thread_cannot_read_what_another_one_only_may_have_written():
    raced = BLOCKS.replace("part[t] = x[w * 3 + t]", "if t > 0:\n                part[0] = x[w * 3 + t]")
    with pytest.raises(Race):
        interpret(parse(raced), {}, {"x": X})
