"""Kernels in this user's cache: of a function that was compiled before with the same options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ragged.codegen.target import read_target
from ragged.compiled.key import changed_since_import
from ragged.compiled.log import CACHE
from ragged.errors import DataError, UserError
from ragged.machine import this_machine
from ragged.runtime import processor
from ragged.runtime.disk_cache import DiskCache
from ragged.runtime.team import check_workers
from ragged.tc.kept_analyses import PACKAGES, open_entry
from ragged.tc.kernel import TcKernel, TcOrigin


def find_or_compile(
    origin: TcOrigin, options: Mapping[str, Any], arrays: Mapping[str, Any], make: Callable[[], TcKernel]
) -> TcKernel:
    """Return the kernel of an origin for options of `ragged.compile`: from the cache, or as `make` compiles it.

    `arrays` are bound to what is found. Raises what `make` does.
    """
    opened = _open(origin, options) if options.get("cache", True) else None
    if opened is None:
        return make()
    cache, key = opened
    data = cache.get(key)
    if data is not None:
        try:
            anywhere = read_target(options.get("target", "cpu")) is not None
            found = TcKernel.from_entry(data, arrays, options.get("threads"), anywhere=anywhere)
        except (DataError, UserError):
            pass  # it is made anew
        else:
            CACHE.info("hit %s", key)
            return found
    made = make()
    entry = None if changed_since_import(PACKAGES) else made.entry()
    if entry is not None:
        cache.put(key, entry)
    return made


def _open(origin: TcOrigin, options: Mapping[str, Any]) -> tuple[DiskCache, str] | None:
    """Return the cache and the key of a kernel; None without a cache."""
    workers = check_workers(options.get("threads"))
    return open_entry(
        "function", origin, sorted(options.items()), processor.identity(), this_machine(), workers
    )
