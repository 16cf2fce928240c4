"""What a peer for Tensor Comprehensions is: the same functions in some library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, ClassVar, TypeAlias

import numpy as np

from bench.tc.workloads import Array, Operands, Workload

Call: TypeAlias = Callable[[], Any]


class TcPeer(ABC):
    """A library, made once in a process of its own; it must not compute with more than `threads` threads.

    To add one: a subclass called `Measured` in a file of its own in this folder, and a line in
    `bench.peers.tc.EVERY`.
    """

    functions: ClassVar[Collection[str]]
    """The functions of examples/tc that it has."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    @abstractmethod
    def call(self, workload: Workload, operands: Operands) -> Call:
        """Return what is timed: a call on these arrays that returns results in memory of their own.

        What is compiled is compiled here or in the first call, and both are timed together as compiling. Operands
        may be wrapped as the library's tensors, without a copy.
        """

    def arrays(self, result: Any) -> list[Array]:
        """Return a call's results as arrays, in the order of the function's outputs."""
        return [np.asarray(each) for each in (result if isinstance(result, tuple | list) else [result])]

    def cached_seconds(self, workload: Workload) -> float | None:
        """Return the seconds that the function takes to make from a cache on disk; None without such a cache."""
        return None
