"""Points compiled ahead, in processes beside this one: each puts its kernels into this user's cache on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import wait
from types import TracebackType
from typing import Any, Self, TypeAlias

Job: TypeAlias = Callable[[], object]
"""Compiles a point; it is pickled, and what it returns is not."""
_REPLY_SECONDS = 120.0
"""A process that has not replied is ended: its point is compiled here, where the reason shows."""


class _Worker:
    """A process of `ragged.tuning.worker`, in a session of its own: Ctrl-C in a terminal does not reach it."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        path = os.pathsep.join(filter(None, sys.path))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ragged.tuning.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def kill(self) -> None:
        self.connection.close()
        self._process.kill()
        self._process.wait()


class CompileAhead:
    """So many processes, started when they are first needed and ended with the `with`."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._workers: list[_Worker] = []

    def __call__(self, jobs: Sequence[Job]) -> None:
        """Return when each job is compiled or has failed; a failure shows again where the point is compiled here."""
        while len(self._workers) < min(self._count, len(jobs)):
            self._workers.append(_Worker())
        left = list(jobs)
        free = {worker.connection: worker for worker in self._workers}
        busy: dict[Any, _Worker] = {}
        while left or busy:
            while left and free:
                connection, worker = free.popitem()
                if self._send(worker, left.pop(0)):
                    busy[connection] = worker
            if not busy and not free:
                return  # every process has ended
            ready: list[Any] = wait(list(busy), _REPLY_SECONDS)
            for connection in ready or list(busy):
                worker = busy.pop(connection)
                if ready and self._receive(worker):
                    free[connection] = worker
                elif not ready:
                    self._drop(worker)

    def _send(self, worker: _Worker, job: Job) -> bool:
        try:
            worker.connection.send(job)
        except OSError:
            self._drop(worker)
            return False
        return True

    def _receive(self, worker: _Worker) -> bool:
        try:
            worker.connection.recv()
        except (EOFError, OSError):
            self._drop(worker)
            return False
        return True

    def _drop(self, worker: _Worker) -> None:
        worker.kill()
        self._workers.remove(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
