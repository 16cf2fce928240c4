"""Functions that are compiled once for each configuration, and kept as long as the process lives."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

import ragged
from ragged.api.schedule import RaggedSchedule

if TYPE_CHECKING:
    from ragged.codegen.target import TargetLike

Params = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Options:
    """What operators are compiled for: `target` and `threads` as `ragged.compile` takes them."""

    target: TargetLike = "cpu"
    threads: int | None = None

    @property
    def key(self) -> Hashable:
        """What tells two of them apart."""
        return str(self.target), self.threads


@dataclass(slots=True)
class _Kept:
    """A function that is compiled once, under the lock."""

    lock: Lock = field(default_factory=Lock)
    function: ragged.RaggedFunction | None = None


_kept: dict[Hashable, _Kept] = {}
_lock = Lock()


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
            kept.function = ragged.compile(build(), params, target=options.target, threads=options.threads)
            return kept.function
    return kept.function.with_params(params) if params else kept.function
