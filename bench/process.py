"""Peers as processes of their own: thread pools and environments of one do not meet another's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import Pipe
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from bench.messages import Answer, Build, Failed, Time, Timed, Weigh
from bench.peers import find
from bench.peers.job import Answers, Job
from bench.trees import Flat

ROOT = Path(__file__).resolve().parents[1]
_HANDICAPS = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "OPENBLAS_VERBOSE",
    "MKL_DEBUG_CPU_TYPE",
    "PYTHONDONTWRITEBYTECODE",
)
"""Settings of a machine's environment under which OpenBLAS or MKL run other code than they would choose, or Python
compiles a package again in each process."""
_KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 * 2**20), "MALLOC_TRIM_THRESHOLD_": str(2**34)}
"""Memory that glibc's allocator has, it keeps, as servers are set up: without it NumPy and PyTorch take pages from the
system in each call and give them back, which made large batches up to twice as slow."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class PeerFailed(Exception):
    """A peer's process raised something; the text is its traceback."""


def fair_environment(threads: int) -> dict[str, str]:
    """Return this process's environment as every peer gets it.

    It is without what slows libraries down, and with so many threads for each pool; memory stays with the process.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _HANDICAPS}
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return kept | _KEPT_MEMORY | dict.fromkeys(_THREADS, str(threads)) | {"PYTHONPATH": os.pathsep.join(path)}


class ServedProcess:
    """A peer in a process of its own, started when it is made and ended with the `with`; `wait` comes first.

    It runs `server`, one of this package's modules, which imports the peer's `module` and answers requests.
    """

    environment: ClassVar[Mapping[str, str]] = {}
    """Settings that its processes have besides the fair environment."""
    patience: ClassVar[float] = 300.0
    """Seconds after which a process that has not replied is ended."""

    def __init__(self, name: str, server: str, module: str, threads: int, *, quiet: bool = False) -> None:
        self.name = name
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", server, module, str(theirs.fileno())],
                env={**fair_environment(threads), **self.environment},
                pass_fds=[theirs.fileno()],
                stderr=subprocess.DEVNULL if quiet else None,
            )

    def wait(self) -> None:
        """Return when the process has imported its peer; until then it takes processors from the others."""
        self._receive()

    def ask(self, request: object) -> object:
        """Send a request, and return the reply; `PeerFailed` if the peer raises or its process ends."""
        try:
            self._connection.send(request)
        except ConnectionError as error:
            raise self._ended() from error
        return self._receive()

    def _receive(self) -> object:
        try:
            if not self._connection.poll(self.patience):
                self._process.kill()
                raise PeerFailed(f"{self.name}: no reply in {self.patience:.0f} seconds")
            reply: object = self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise self._ended() from error
        if isinstance(reply, Failed):
            raise PeerFailed(f"{self.name}:\n{reply.text}")
        return reply

    def _ended(self) -> PeerFailed:
        return PeerFailed(f"{self.name}: its process ended: {self._process.wait()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._connection.close()  # the process reads the end of it
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class PeerProcess(ServedProcess):
    """A peer that computes recursive models."""

    def __init__(self, name: str, threads: int) -> None:
        quiet = name == "dynet"  # it says how it was set up
        super().__init__(name, "bench.serve", find(name).module, threads, quiet=quiet)

    def build(self, job: Job, trees: list[Flat]) -> str | None:
        """Make the model of a job and the trees of all later batches; return why if it has no such model."""
        why = self.ask(Build(job, trees))
        assert why is None or isinstance(why, str)
        return why

    def answers(self, batch: range) -> Answers:
        """Compute a batch."""
        answers = self.ask(Answer(batch))
        assert isinstance(answers, dict)
        return answers

    def weigh(self, batch: range, repeats: int) -> int:
        """Compute a batch some times; return by how many bytes the process grew meanwhile, at its peak."""
        grown = self.ask(Weigh(batch, repeats))
        assert isinstance(grown, int)
        return grown

    def time(self, batch: range, warm: tuple[range, ...], repeats: int) -> Timed:
        """Time a batch, after calls on other batches."""
        timed = self.ask(Time(batch, warm, repeats))
        assert isinstance(timed, Timed)
        return timed
