"""The process of one peer of the ragged operators: answers requests until there are no more.

python -m bench.operators.serve MODULE FILE_DESCRIPTOR
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, assert_never

from bench.operators.messages import Answer, Ask, Request, Solve, Time
from bench.operators.problems import Problem
from bench.peers.ragged.peer import Prepared, RaggedPeer
from bench.serve import serve

AWAKE = 2
"""How many calls come right before those that are timed, so that threads are awake and caches warm."""


class Server:
    """A peer's class, the problem that it was last given, and the batches that it has prepared of it."""

    def __init__(self, module: str) -> None:
        self._class: type[RaggedPeer] = import_module(module).Measured
        self._peer: RaggedPeer | None = None
        self._problem: Problem | None = None
        self._prepared: dict[int, Prepared[Any]] = {}

    def reply(self, request: Request) -> object:
        """Do what is asked."""
        match request:
            case Ask():
                return self._class.operators
            case Solve(problem=problem):
                self._peer, self._prepared = None, {}  # the problem before gives back its memory
                self._peer, self._problem = self._class(problem), problem
                return None
            case Answer(batch=batch):
                return self._batch(batch).answers()
            case Time(batch=batch, warm=warm, repeats=repeats):
                self._batch(warm).times(AWAKE)
                return self._batch(batch).times(repeats)
            case _:
                assert_never(request)

    def _batch(self, number: int) -> Prepared[Any]:
        assert self._peer is not None and self._problem is not None, "Solve comes first"
        if number not in self._prepared:
            self._prepared[number] = self._peer.prepare(self._problem.inputs(number))
        return self._prepared[number]


if __name__ == "__main__":
    serve(lambda module: Server(module).reply)
