"""Where buffers are kept."""

from __future__ import annotations

from enum import Enum


class MemoryScope(Enum):
    """The memory that a buffer lives in."""

    GLOBAL = "global"
    SHARED = "shared"
    REGISTER = "register"
