"""What a peer of the ragged operators is: a program that computes them from inputs laid out as it likes."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, ClassVar, Generic, TypeVar

from bench.operators.problems import Array, Inputs, Operator, Problem

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Prepared(Generic[Result]):
    """A batch, laid out as its peer likes: `run` is what is timed, `read` makes arrays of what it returns.

    `before` comes before every run and is not timed: an operator that overwrites its input puts it back there.
    """

    run: Callable[[], Result]
    read: Callable[[Result], list[Array]]
    before: Callable[[], object] | None = None

    def answers(self) -> list[Array]:
        """Return the answers, copies: of each sequence its rows or scores, of each pair its product."""
        if self.before is not None:
            self.before()
        return [array.copy() for array in self.read(self.run())]

    def times(self, repeats: int) -> list[int]:
        """Return the nanoseconds of each run. As in `timeit`, no garbage is collected meanwhile."""
        gc.collect()
        gc.disable()
        try:
            return [self._time() for _ in range(repeats)]
        finally:
            gc.enable()

    def _time(self) -> int:
        if self.before is not None:
            self.before()
        begin = perf_counter_ns()
        kept = self.run()
        took = perf_counter_ns() - begin
        del kept  # giving memory back is not timed, but comes before the next run
        return took


class RaggedPeer(ABC):
    """Operators in some library, made once for a problem: what does not depend on inputs is done in `__init__`.

    To add one: a subclass called `Measured` in a file of its own in this folder, and a line in
    `bench.peers.ragged.RAGGED_PEERS`. It runs in a process of its own, so it may import what it likes and set up
    threads as it likes; it must not compute with more than `problem.threads` of them.
    """

    operators: ClassVar[frozenset[Operator]]
    """Those that it has."""

    @abstractmethod
    def __init__(self, problem: Problem) -> None: ...

    @abstractmethod
    def prepare(self, inputs: Inputs) -> Prepared[Any]:
        """Lay out the inputs of a batch as the library wants them: nested, padded, in a list.

        Nothing that is computed from the values may be computed here.
        """
