"""Batch after batch: the next one is linearized while the kernel runs on this one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, sleep

from cortex.compiler.output import Output
from cortex.linearize import Linearized

WORTH = 1e-3
"""Batches that take less to linearize, in seconds, are not given to another thread: that costs about as much."""
GIVE_WAY = 50e-6
"""How long the other thread waits before it linearizes, in seconds: it keeps the interpreter's lock until it is done,
and a kernel that had not started by then would have to wait for it."""


def stream(
    batches: Iterable[object],
    linearize: Callable[[object], Linearized],
    run: Callable[[Linearized], Output],
) -> Iterator[Output]:
    """Yield the results of batches in order, each as soon as it is there.

    A kernel holds no lock of the interpreter's, so that another thread can linearize meanwhile: where the last batch
    took long enough, it reads the next one of `batches` and linearizes it. What goes wrong with a batch is raised in
    its turn.
    """
    source = iter(batches)

    def following(give_way: float = 0.0) -> tuple[Linearized, float] | None:
        for data in source:
            if give_way:
                sleep(give_way)
            start = perf_counter()
            return linearize(data), perf_counter() - start
        return None

    with ThreadPoolExecutor(1, "cortex-linearize") as other:  # its thread starts when it is first needed
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
