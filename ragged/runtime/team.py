"""The resident team of this process: how many workers there may be, and stages as it runs them.

There is one team in a process, for all compiled functions: the thread that calls, and helper threads that are started
when a call first wants them and kept until the process ends. A helper that has nothing to do stays awake for 200 us
and sleeps then, so an idle process uses no processor. One call at a time has the team; a call that finds it busy
runs in its own thread alone, so calls from many threads neither wait for each other nor crowd the processors. A
call waits for helpers no longer than its patience, and then goes on with those who came. None of this can be seen in
the results, whose bits do not depend on the number of workers.

Other libraries' threads hold processors, and may do so for milliseconds after their work (OpenMP's do). So helpers ask
the system for short turns, which lets them in at once (Linux 6.12 and later); they stay off the processor that the
calling thread is on, and there are no more of them than processors that it may use; who waits never yields, which
would cost the turn; and helpers that did not come are not called again for ten times as long as was waited for them.

A child of `fork` has a team of its own, whose helpers are started when they are wanted.
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

PATIENCE_NS = 50_000
"""How long a call waits for helpers who sleep, unless it knows better: about what it takes to wake them."""

Frame: TypeAlias = object
"""What `frame` returns: all that calls of some stages have in common, for `call`."""
Failed = _team.Failed
"""What `call` raises for a check that failed: the number of the stage, and the status words as bytes."""
frame, call, blocks, helpers = _team.frame, _team.call, _team.blocks, _team.helpers

atexit.register(_team.disband)


def check_workers(workers: int | None) -> int:
    """Return a number of workers: `workers`, or the cores of this process for None.

    Raises:
        UserError: it is no number from 1 up.
    """
    if workers is None:
        return usable_cores()
    if type(workers) is not int or workers < 1:
        raise UserError(f"{workers!r} workers leave nobody to do the work", fix="a number from 1 up, or None")
    return workers


def address_of(entry: Entry) -> int:
    """Return the address of a stage's function, which is tvm_ffi's; the entry keeps it alive."""
    handle = entry.function.__ctypes_handle__()  # type: ignore[attr-defined]
    assert isinstance(handle, c_void_p) and handle.value
    return handle.value


def kinds_of(arguments: Sequence[Argument]) -> bytes:
    """Return what each argument is, and the status words after them: an address or a number, as frames want it."""
    return b"".join(b"i" if argument.kind is ArgumentKind.SIZE else b"p" for argument in arguments) + b"p"
