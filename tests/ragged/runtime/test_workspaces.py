"""Memory for workspaces: calls take turns with it, and what one huge call needed is not kept for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ragged.runtime.call import Caller
from tests.ragged.runtime.hardship import check, compiled

MANY = 4 << 20  # elements of 8 bytes


@pytest.fixture
def call():
    return Caller([compiled()], {}, workers=1)


def test_a_block_is_used_again(call):
    assert call.idle_memory == (0, 0)
    check(call, 100)
    first = call.idle_memory
    assert first[0] == 1 and first[1] >= 800
    for n in range(100):
        check(call, n)
    assert call.idle_memory == first


def test_there_are_as_many_blocks_as_calls_at_once(call):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: check(call, 500 + n, steps=50), range(200)))
    assert 1 <= call.idle_memory[0] <= 4


def test_a_huge_block_is_kept_while_it_is_needed_and_no_longer(call):
    for _ in range(3):
        check(call, MANY, steps=1)
        assert call.idle_memory[1] >= 8 * MANY
        check(call, 10)
    for _ in range(60):
        check(call, 10)
    assert call.idle_memory[1] < 2 << 20


def test_huge_blocks_that_nobody_takes_any_more_are_found(call):
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: check(call, MANY // 4, steps=20), range(9)))
    for _ in range(100):
        check(call, 10)
    assert call.idle_memory[1] < 2 << 20
