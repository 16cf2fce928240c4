"""Batch after batch: the next one is linearized while the kernel runs on this one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep

from cortex.compiler.output import Output
from cortex.linearize import Linearized

WORTH = 1e-3
"""Batches that take less time to linearize (s) are not given to another thread, which costs about as much."""
GIVE_WAY = 50e-6
"""Delay of the other thread before it linearizes (s): it holds the GIL, which a kernel needs to start."""


def stream(
    batches: Iterable[object],
    linearize: Callable[[object], Linearized],
    run: Callable[[Linearized], Output],
) -> Iterator[Output]:
    """Yield the results of batches in order.

    A kernel does not hold the GIL: if the last batch took long enough to linearize, another thread linearizes the
    next one meanwhile. An error in a batch is raised in its turn.
    """
    source = iter(batches)

    def following(give_way: float = 0.0) -> tuple[Linearized, float] | None:
        for data in source:
            if give_way:
                sleep(give_way)
            start = perf_counter()
            return linearize(data), perf_counter() - start
        return None

    with ThreadPoolExecutor(1, "cortex-linearize") as other:  # its thread starts on first use
        current = following()
        while current is not None:
            linearized, took = current
            if took < WORTH:
                yield run(linearized)
                current = following()
            else:
                ahead = other.submit(following, GIVE_WAY)
                yield run(linearized)
                current = ahead.result()
