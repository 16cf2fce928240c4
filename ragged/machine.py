"""Descriptions of processors and GPUs for schedules."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SHARED = {"sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90": 227, "sm_90a": 227, "sm_100": 227, "sm_120": 99}
"""KiB of shared memory that a block may have, by architecture (CUDA C++ Programming Guide, compute capabilities)."""
_PROCESSORS = {
    "sm_80": 108,
    "sm_86": 84,
    "sm_89": 142,
    "sm_90": 132,
    "sm_90a": 132,
    "sm_100": 148,
    "sm_120": 188,
}
"""Multiprocessors of the largest GPU on sale with it."""
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_LANES = (("avx512f", 64, 32), ("avx2", 32, 16), ("asimd", 16, 32))
"""What a processor says of its vectors: a flag, bytes of a register, and how many there are."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Machine rates: throughput and latency of one core, with vectors of full width, while all cores are busy.

    Attributes:
        multiply_adds: vector multiply-adds that are issued per cycle.
        latency: cycles until the sum of a multiply-add can be added to again.
        loads: vector loads per cycle from the first cache.
        l2_bytes: bytes per cycle that are read from the second cache.
        l3_bytes: the same of the last cache.
        memory_bytes: the same of memory.
        mhz: cycles per microsecond.
    """

    multiply_adds: int = 2
    latency: int = 4
    loads: int = 2
    l2_bytes: int = 32
    l3_bytes: int = 16
    memory_bytes: int = 8
    mhz: int = 3000


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor: bytes of a vector register and how many there are, cores, and bytes of each core's caches.

    `cores` are those that this process may use; `matrix_unit` says whether it has one for sums of products of pairs.
    `l3_bytes` are those of the last cache, which cores share; 0 without one. `rates` say how fast it is.
    """

    vector_bytes: int
    vector_registers: int
    cores: int
    l1_bytes: int
    l2_bytes: int
    matrix_unit: bool = False
    l3_bytes: int = 0
    rates: Rates = Rates()

    def lanes(self, element_bytes: int) -> int:
        """Return how many elements a vector register holds."""
        return self.vector_bytes // element_bytes

    @property
    def accumulators(self) -> int:
        """The independent sums that hide the latency of multiply-adds."""
        return self.rates.latency * self.rates.multiply_adds

    @property
    def gflops(self) -> float:
        """Float32 operations per nanosecond of one core, at best; a multiply-add is two."""
        return 2 * self.lanes(4) * self.rates.multiply_adds * self.rates.mhz / 1000

    def read_bytes(self, size: float) -> int:
        """Return the bytes per cycle that a core reads of `size` bytes which it reads again and again."""
        if size <= self.l1_bytes:
            return self.rates.loads * self.vector_bytes
        if size <= self.l2_bytes:
            return self.rates.l2_bytes
        return self.rates.l3_bytes if size <= self.l3_bytes else self.rates.memory_bytes


@dataclass(frozen=True, slots=True)
class Grid:
    """A GPU as a grid that runs at once: blocks, one for each multiprocessor, their threads, and what they share.

    `shared_bytes` is the memory on chip of each block.
    """

    blocks: int
    threads: int
    shared_bytes: int


def grid_of(architecture: str, blocks: int | None, threads: int | None, shared_bytes: int | None) -> Grid:
    """Return the grid for an architecture ("sm_90"); numbers that are given stand in place of what is known of it.

    What is not known of an architecture is taken to be as small as it is on any.
    """
    return Grid(
        blocks or _PROCESSORS.get(architecture, min(_PROCESSORS.values())),
        threads or 256,
        shared_bytes or _SHARED.get(architecture, min(_SHARED.values())) * 1024,
    )


@cache
def this_machine() -> Machine:
    """Return what this process runs on; what cannot be read is taken to be small."""
    flags = _flags()
    vector_bytes, registers = next(((size, count) for flag, size, count in _LANES if flag in flags), (16, 16))
    caches = _cache_sizes()
    return Machine(
        vector_bytes,
        registers,
        len(os.sched_getaffinity(0)),
        caches.get(1, 32 * 1024),
        caches.get(2, 256 * 1024),
        l3_bytes=caches.get(3, 0),
    )


def _flags() -> frozenset[str]:
    """Return the features that the kernel lists for the first processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    for line in lines:
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(words.split())
    return frozenset()


def _cache_sizes() -> dict[int, int]:
    """Return the bytes of the first processor's data caches, by level."""
    sizes: dict[int, int] = {}
    for folder in sorted(_CACHES.glob("index*")):
        try:
            kind = (folder / "type").read_text(encoding="utf-8").strip()
            level = int((folder / "level").read_text(encoding="utf-8"))
            size = (folder / "size").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            continue
        if kind != "Instruction":
            sizes[level] = int(size.rstrip("KM")) * {"K": 1024, "M": 1024**2}.get(size[-1], 1)
    return sizes
