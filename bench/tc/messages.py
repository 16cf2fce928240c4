"""What is said between the benchmark of Tensor Comprehensions and the process of a peer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.tc.workloads import Workload


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make a row's function and compare its results with those in a file of NumPy's; the reply is `Prepared` or None.

    None says that the peer has no such function.
    """

    workload: Workload
    expected: Path


@dataclass(frozen=True, slots=True)
class Prepared:
    """The error max|a - b| / max(1, max|b|) of the results, and the seconds that compiling took."""

    error: float
    compile_seconds: float
    cached_seconds: float | None


@dataclass(frozen=True, slots=True)
class TimeCalls:
    """Call so often, or until so many seconds have passed, at least three times; the reply are nanoseconds."""

    calls: int
    seconds: float
