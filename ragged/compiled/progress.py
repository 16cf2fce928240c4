"""A line on the terminal while a compilation takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import Any

from ragged.compiled.log import Stopwatch

SLOW = 2.0
"""A compilation that takes longer is reported (s)."""


class _Doing:
    """The line: what is compiled, and the part that runs now."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __rich__(self) -> str:
        part = Stopwatch.running
        return f"compiling {self.what}" + (f": {part}" if part else "")


@contextmanager
def reported_if_slow(what: str) -> Iterator[None]:
    """Show a spinner with `what` and the running part on stderr, if that is a terminal, once the block takes long."""
    if not sys.stderr.isatty():
        yield
        return
    lock, shown, ended = Lock(), [], False

    def show() -> None:
        from rich.console import Console  # here: most compilations are quick, or found in the cache

        with lock:
            if not ended:
                status: Any = Console(stderr=True).status(_Doing(what))
                status.start()
                shown.append(status)

    timer = Timer(SLOW, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            ended = True
            for status in shown:
                status.stop()
