"""The worker team of this process, and the native step that runs a call's stages on it.

A process has one team for all compiled functions: the calling thread, and helper threads that start on first use and
stay until the process ends. An idle helper spins for 200 us, then sleeps. One call at a time has the team; a call that
finds it busy runs on its own thread, so concurrent calls neither wait for each other nor oversubscribe processors. A
call waits for helpers for its spin time at most, and runs with those that are ready. Results have the same bits for any
number of workers.

Threads of other libraries may hold processors for milliseconds after their work (OpenMP's do). So helpers ask for short
scheduler slices, which lets them in at once (Linux 6.12 and later), avoid the caller's processor, and are at most as
many as the processors of this process; no waiting thread yields, which would cost its slice; helpers that were not
ready are not called again for ten times as long as the call waited for them.

A child of `fork` has its own team.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from ctypes import c_void_p
from typing import TypeAlias

from ragged.codegen.entry import Argument, ArgumentKind, Entry
from ragged.errors import UserError
from ragged.runtime.cores import usable_cores

try:
    from ragged.runtime import _team
except ImportError as error:
    raise ImportError(
        "ragged.runtime: its native extension is not built; run `make test`, or `pip install -e .`"
    ) from error

MAX_WORKERS = 4096
"""More than the processors of any machine that Linux runs on today."""
SPIN_NS = 50_000
"""The default spin time of a call: about what it takes to wake a helper."""

Frame: TypeAlias = object
"""The prepared part of calls of some stages, for `call`."""
Failed = _team.Failed
"""Raised by `call` for a failed check: the stage's number, and the status words as bytes."""
frame, call, blocks, helpers = _team.frame, _team.call, _team.blocks, _team.helpers

atexit.register(_team.disband)


def check_workers(workers: int | None) -> int:
    """Return the number of workers that `threads=workers` asks for; None is one for each core of this process.

    Raises:
        UserError: it is not an integer from 1 to `MAX_WORKERS`.
    """
    if workers is None:
        return usable_cores()
    if type(workers) is not int or not 1 <= workers <= MAX_WORKERS:
        raise UserError(f"threads={workers!r} is not a number of workers", fix=f"1 to {MAX_WORKERS}, or None")
    return workers


def address_of(entry: Entry) -> int:
    """Return the address of a stage's tvm_ffi function; the entry keeps it alive."""
    handle = entry.function.__ctypes_handle__()  # type: ignore[attr-defined]
    assert isinstance(handle, c_void_p) and handle.value
    return handle.value


def kinds_of(arguments: Sequence[Argument]) -> bytes:
    """Return a letter for each argument and for the status words after them: "i" for a number, "p" for an address."""
    return b"".join(b"i" if argument.kind is ArgumentKind.SIZE else b"p" for argument in arguments) + b"p"
