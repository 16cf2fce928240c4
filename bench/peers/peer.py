"""What a peer is: a program that computes the roots' answers from plain trees."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import ClassVar

from bench.peers.job import Answers, Cell, Job
from bench.trees import Tree


class Peer(ABC):
    """A model in some library, made once for a job: whatever does not depend on trees is done in `__init__`.

    To add one: a subclass called `Measured` in a file of its own in this folder, and a line in `bench.peers.PEERS`.
    It runs in a process of its own, so it may import what it likes and set up threads as it likes; it must not compute
    with more than `job.threads` of them.
    """

    lacks: ClassVar[Mapping[Cell, str]] = {}
    """The cells that it does not compute, and why."""

    @abstractmethod
    def __init__(self, job: Job) -> None: ...

    @abstractmethod
    def end_to_end(self, trees: Sequence[Tree]) -> Answers:
        """Return the answers at the roots, from the objects on; nothing may be remembered of the trees."""

    def kernel(self, trees: Sequence[Tree]) -> Callable[[], object] | None:
        """Prepare all that depends on structure and words alone, and return what computes the rest.

        None where a library does not tell the two apart.
        """
        return None

    def kernel_times(self, trees: Sequence[Tree], repeats: int) -> list[int] | None:
        """Return what the kernel alone took, each time, in nanoseconds; None where there is no such thing."""
        run = self.kernel(trees)
        return None if run is None else time_calls(run, repeats)

    def arrays_times(self, trees: Sequence[Tree], repeats: int) -> list[int] | None:
        """Return what calls on a batch's flat arrays took, in nanoseconds; None where that is the kernel's time."""
        return None


def time_calls(call: Callable[[], object], repeats: int) -> list[int]:
    """Return the nanoseconds of each of so many calls, after one that is not counted.

    As in `timeit`, no garbage is collected meanwhile. It is collected before: after that threads sleep, and caches hold
    something else.
    """
    gc.collect()
    gc.disable()
    try:
        call()
        times = []
        for _ in range(repeats):
            begin = perf_counter_ns()
            kept = call()
            times.append(perf_counter_ns() - begin)
            del kept
        return times
    finally:
        gc.enable()
