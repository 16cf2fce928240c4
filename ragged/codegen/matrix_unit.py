"""Leave to use the processor's matrix unit, which Linux gives a process that asks for it."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

FEATURES = ("amx-bf16", "amx-tile")
"""What LLVM calls the unit's features that code is made of."""
_ARCH_PRCTL = 158
_REQUEST = 0x1023
"""ARCH_REQ_XCOMP_PERM of <asm/prctl.h>: to have a state saved that is larger than what every process has."""
_TILES = 18
"""XFEATURE_XTILEDATA: the tiles of Intel AMX."""


@cache
def may_use_tiles() -> bool:
    """Ask for the use of tiles, for all threads of this process; return whether they may use them.

    An instruction on tiles of a process without leave ends it. Linux says no where there is no such unit, where a
    thread's stack for signals is too small for what is saved, or where a sandbox allows no such question.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    answer: int = ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST, _TILES)
    return answer == 0
