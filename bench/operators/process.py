"""A peer of the ragged operators, in a process of its own."""

from __future__ import annotations

from types import MappingProxyType

from bench.operators.messages import Answer, Ask, Solve, Time
from bench.operators.problems import Array, Operator, Problem
from bench.peers.ragged import find
from bench.process import ServedProcess


class RaggedProcess(ServedProcess):
    """As `bench.process.ServedProcess`; what each method asks is said in `bench.operators.messages`."""

    # Padded tensors are larger than what the allocator keeps if it may map memory: PyTorch was up to a third slower.
    # Threads of MKL's own pool spin for 200 ms after a call, into the turn of the peer that is next.
    environment = MappingProxyType({"MALLOC_MMAP_MAX_": "0", "KMP_BLOCKTIME": "20"})

    def __init__(self, name: str, threads: int) -> None:
        super().__init__(name, "bench.operators.serve", find(name).module, threads)

    def operators(self) -> frozenset[Operator]:
        """Return the operators that the peer has."""
        found = self.ask(Ask())
        assert isinstance(found, frozenset)
        return found

    def solve(self, problem: Problem) -> None:
        """Make what a problem needs."""
        self.ask(Solve(problem))

    def answers(self, batch: int) -> list[Array]:
        """Compute a batch."""
        answers = self.ask(Answer(batch))
        assert isinstance(answers, list)
        return answers

    def time(self, batch: int, warm: int, repeats: int) -> list[int]:
        """Time a batch."""
        times = self.ask(Time(batch, warm, repeats))
        assert isinstance(times, list)
        return times
