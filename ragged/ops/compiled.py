"""Functions that are compiled once for each configuration, and kept as long as the process lives."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import cache
from threading import Lock
from typing import Literal, TypedDict

import ragged
from ragged.api.compile_options import Precision
from ragged.api.schedule import RaggedSchedule
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.tile_sizes import panel_vectors
from ragged.codegen.target import TargetLike, read_target
from ragged.ir.dtype import DType
from ragged.machine import Machine, this_machine

Params = Mapping[str, object]


class CompileArgs(TypedDict, total=False):
    """What operators are compiled for, as `ragged.compile` takes it; by default this machine and all its cores."""

    target: TargetLike
    threads: int | None
    precision: Precision
    options: ScheduleOptions
    schedule: Literal["default"] | None


@dataclass(frozen=True, slots=True)
class Options:
    """What operators are compiled for."""

    target: TargetLike = "cpu"
    threads: int | None = None
    precision: Precision = "float32"
    options: ScheduleOptions = DEFAULT
    schedule: Literal["default"] | None = "default"

    @classmethod
    def of(cls, given: CompileArgs) -> Options:
        """Return the options of the arguments of the operator that calls this.

        Raises:
            TypeError: an argument is none of these.
        """
        names = [each.name for each in fields(cls)]
        unknown = [name for name in given if name not in names]
        if unknown:
            operator = sys._getframe(1).f_code.co_qualname.removesuffix(".__init__")
            what = f"{operator} got an unexpected keyword argument '{unknown[0]}'"
            raise TypeError(f"{what}; beside its own it takes {', '.join(names)}")
        return cls(**given)

    @property
    def machine(self) -> Machine:
        """The processor that schedules follow; rates of this machine are stated ones, not measured."""
        target = read_target(self.target)
        return this_machine() if target is None else _stated(str(target))

    def lanes(self, dtype: str) -> int:
        """Return how many elements a vector holds of what elements of a type are computed in."""
        return self.machine.lanes(DType(dtype).computed.bytes)

    def panel(self, dtype: str) -> int:
        """Return the columns of a packed panel, as many vectors as a register tile has: 64 float32 on AVX-512."""
        return panel_vectors(self.machine, self.options.tile) * self.lanes(dtype)

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What tells two of them apart."""
        return str(self.target), self.threads, self.precision, self.options, self.schedule


@cache
def _stated(target: str) -> Machine:
    from ragged.compiled.target_machine import machine_of  # here: this machine is known without the compiler

    return machine_of(target)


@dataclass(slots=True)
class _Kept:
    """A function that is compiled once, under the lock."""

    lock: Lock = field(default_factory=Lock)
    function: ragged.RaggedFunction | None = None


_kept: dict[tuple[Hashable, tuple[Hashable, ...]], _Kept] = {}
_lock = Lock()
_used: ContextVar[list[ragged.RaggedFunction] | None] = ContextVar("_used", default=None)


def compiled(
    key: Hashable, build: Callable[[], RaggedSchedule], options: Options, params: Params | None = None
) -> ragged.RaggedFunction:
    """Return the function of a configuration, with `params` as its parameters.

    The first to ask for a `key` builds and compiles it, others wait for that one. Any number of threads may ask. What
    is kept has the parameters of the first; others get the same code with their own.
    """
    with _lock:
        kept = _kept.setdefault((key, options.key), _Kept())
    with kept.lock:
        if kept.function is None:
            schedule = build()
            schedule.operator = repr(key)
            kept.function = ragged.compile(
                schedule,
                params,
                target=options.target,
                threads=options.threads,
                precision=options.precision,
                options=options.options,
                schedule=options.schedule,
            )
        elif params:
            return _noted(kept.function.with_params(params))
    return _noted(kept.function)


@contextmanager
def used_functions() -> Iterator[list[ragged.RaggedFunction]]:
    """Give a list of the functions that operators ask for in this thread until the `with` ends."""
    found: list[ragged.RaggedFunction] = []
    token = _used.set(found)
    try:
        yield found
    finally:
        _used.reset(token)


def forget(options: ScheduleOptions) -> None:
    """Keep functions with these options no longer; the code stays in the user's cache."""
    with _lock:
        for key in [each for each in _kept if options in each[1]]:
            del _kept[key]


def _noted(function: ragged.RaggedFunction) -> ragged.RaggedFunction:
    used = _used.get()
    if used is not None:
        used.append(function)
    return function
