"""How much Python does in an action."""

from __future__ import annotations

import sys
from collections.abc import Callable


def opcodes(action: Callable[[], object]) -> int:
    """Return how many of Python's instructions an action takes."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def calls(action: Callable[[], object]) -> int:
    """Return how many functions, Python's and native ones, are called from Python in an action."""
    count = 0

    def note(frame, event, arg):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count
