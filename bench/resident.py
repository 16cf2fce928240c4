"""By how much a process's memory grows while something runs: Linux's own count of resident pages."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path

_SELF = Path("/proc/self")
_RESET_PEAK = "5"
"""What makes Linux count the peak anew, written to clear_refs."""


def growth(call: Callable[[], object], repeats: int) -> int:
    """Return by how many bytes the process's resident memory is larger at its peak in some calls than before them.

    Raises:
        OSError: the system is not Linux, or does not let a process reset its peak.
        AttributeError: its allocator is not glibc's.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what the allocator keeps of before would hide what is taken now
    (_SELF / "clear_refs").write_text(_RESET_PEAK, encoding="ascii")
    before = _kilobytes("VmRSS")
    for _ in range(repeats):
        call()
    return max(0, _kilobytes("VmHWM") - before) * 1024


def _kilobytes(name: str) -> int:
    lines = (_SELF / "status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
