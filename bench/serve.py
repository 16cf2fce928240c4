"""The process of one peer: answers requests until there are no more.

python -m bench.serve MODULE FILE_DESCRIPTOR
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, assert_never

from bench.messages import Answer, Build, Failed, Request, Time, Timed, Weigh
from bench.peers.peer import Peer, time_calls
from bench.resident import growth
from bench.trees import Tree, unflatten


class Server:
    """A peer's class, and the model and trees that it was last asked to make."""

    def __init__(self, module: str) -> None:
        self._class: type[Peer] = import_module(module).Measured
        self._peer: Peer | None = None
        self._trees: Sequence[Tree] = ()

    def reply(self, request: Request) -> object:
        """Do what is asked."""
        match request:
            case Build(job=job, trees=trees):
                self._peer = None  # the model before gives back its memory
                if job.cell in self._class.lacks:
                    return self._class.lacks[job.cell]
                self._peer = self._class(job)
                self._trees = [unflatten(flat, job.payloads) for flat in trees]
                return None
            case Answer(batch=batch):
                return {
                    name: array.copy() for name, array in self.peer.end_to_end(self._batch(batch)).items()
                }
            case Time():
                return self._time(request)
            case Weigh(batch=batch, repeats=repeats):
                self.peer.end_to_end(self._batch(batch[:1]))
                weighed = self._batch(batch)
                return growth(lambda: self.peer.end_to_end(weighed), repeats)
            case _:
                assert_never(request)

    @property
    def peer(self) -> Peer:
        """The model; there is one after `Build`."""
        assert self._peer is not None, "Build comes first"
        return self._peer

    def _time(self, request: Time) -> Timed:
        peer, trees = self.peer, self._batch(request.batch)
        for warm in request.warm:
            peer.end_to_end(self._batch(warm))
        end_to_end = time_calls(lambda: peer.end_to_end(trees), request.repeats)
        kernel = peer.kernel_times(trees, request.repeats)
        return Timed(end_to_end, kernel, peer.arrays_times(trees, request.repeats) or kernel)

    def _batch(self, batch: range) -> list[Tree]:
        return [self._trees[number] for number in batch]


def serve(make: Callable[[str], Callable[[Any], object]]) -> None:
    """Serve the connection that stands open: make what replies from the peer's module, then reply to requests."""
    module, descriptor = sys.argv[1:]
    with Connection(int(descriptor)) as connection:
        try:
            reply = make(module)
            connection.send(None)
            while (request := connection.recv()) is not None:
                connection.send(_guarded(reply, request))
        except EOFError:
            return
        except Exception:
            connection.send(Failed(traceback.format_exc()))


def _guarded(reply: Callable[[Any], object], request: object) -> object:
    try:
        return reply(request)
    except Exception:
        return Failed(traceback.format_exc())


if __name__ == "__main__":
    serve(lambda module: Server(module).reply)
