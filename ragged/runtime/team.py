"""The resident team of this process: how many workers there may be, and stages as it runs them.

There is one team in a process, for all compiled functions: the thread that calls, and helper threads that are started
when a call first wants them and kept until the process ends. A helper that has nothing to do stays awake for 50 us
and sleeps then, so an idle process uses no processor. One call at a time has the team; a call that finds it busy
runs in its own thread alone, so calls from many threads neither wait for each other nor crowd the processors. A
call waits for helpers no longer than its patience, and then goes on with those who came: a helper whose processor
another library's threads hold costs little. None of this can be seen in the results, whose bits do not depend on the
number of workers. A child of `fork` has a team of its own, whose helpers are started when they are wanted.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from ctypes import c_void_p

from ragged.codegen.entry import Argument, ArgumentKind, Entry
from ragged.errors import UserError

try:
    from ragged.runtime import _team
except ImportError as error:
    raise ImportError(
        "ragged.runtime: its native extension is not built; run `make test`, or `pip install -e .`"
    ) from error

PATIENCE_NS = 50_000
"""How long a call waits for helpers who sleep, unless it knows better: about what it takes to wake them."""

helpers = _team.helpers

atexit.register(_team.disband)


def usable_cores() -> int:
    """Return how many processors this thread may run on."""
    return len(os.sched_getaffinity(0))


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


class Runner:
    """A stage as the team runs it: `run(values, patience)` with an int for each of `Entry.arguments`, then the status.

    A value is a number, or an array's address, 0 for none. `run` returns how many workers there were.
    """

    __slots__ = ("_address", "_entry", "_kinds", "workers")

    def __init__(self, entry: Entry, workers: int) -> None:
        self._entry = entry  # keeps the function alive
        self.workers = workers if entry.team else 1
        self._address, self._kinds = _address(entry), _kinds(entry.arguments)

    def run(self, values: list[int], patience: int = PATIENCE_NS) -> int:
        """Run the stage; other Python threads run meanwhile."""
        return _team.run(self._address, self._kinds, values, self.workers, patience)


def _address(entry: Entry) -> int:
    """Return the address of a function of tvm_ffi."""
    handle = entry.function.__ctypes_handle__()  # type: ignore[attr-defined]
    assert isinstance(handle, c_void_p) and handle.value
    return handle.value


def _kinds(arguments: Sequence[Argument]) -> bytes:
    """Return what each argument is, and the status words after them, an address or a number."""
    return b"".join(b"i" if argument.kind is ArgumentKind.SIZE else b"p" for argument in arguments) + b"p"
