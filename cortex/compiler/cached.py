"""Kernels on disk: what is compiled once for a user is found again by every process of his.

What a folder holds is never trusted further than its checks go, and nothing that is wrong with it is an error: see
`ragged.runtime.disk_cache`. Entries may be removed at any time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from cortex.compiler.kernel import Kernel, LoadedKernel, load_kernel
from cortex.compiler.key import changed_since_import, key_of, locations
from ragged.codegen.interface import Interface
from ragged.codegen.target import TargetLike, read_target
from ragged.errors import Location, UserError
from ragged.ir.program import Program
from ragged.runtime.bundle import Form, read_bundle, write_bundle
from ragged.runtime.disk_cache import DiskCache

VARIABLE = "CORTEX_CACHE_DIR"
"""The environment variable that names the folder; set to nothing, it says that there is none."""
LIMIT = 1 << 30
"""The most bytes that the folder may hold."""

_CODE = "code.so"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A kernel whose checks do not say where they come from, and of which part of the lowered program each is.

    `origins` are places in `locations(program)`, from one up, stage by stage; 0 is no place.
    """

    kernel: Kernel
    origins: tuple[tuple[int, ...], ...]


_FORM = Form("cached kernel", 1, _Entry, frozenset((_CODE,)))


def cache_folder() -> Path | None:
    """Return the folder of this user's cache, or None if there is to be none.

    It is `CORTEX_CACHE_DIR`, or else what the system has for caches: `~/.cache/cortex` on most.
    """
    named = os.environ.get(VARIABLE)
    if named is None:
        usual = Path(platformdirs.user_cache_dir("cortex", appauthor=False))
        return usual if usual.is_absolute() else None  # of a user who has no home
    return Path(named) if named else None


class KernelCache:
    """The cached kernel of one program, target and number of threads, if there is one or is to be one."""

    def __init__(self, folder: Path, program: Program, target: TargetLike, threads: int) -> None:
        """Find its key; raises `OSError` if it cannot be known."""
        self._cache = DiskCache(folder, LIMIT)
        self._locations = locations(program)
        self._key = key_of(program, read_target(target), threads)

    def find(self) -> LoadedKernel | None:
        """Return the kernel, loaded, or None if there is none that can be used."""
        data = self._cache.get(self._key)
        if data is None:
            return None
        try:
            entry, members = read_bundle(_FORM, data)
            interface = _with_locations(entry, self._locations)
            executable = replace(entry.kernel.executable, interface=interface)
            return load_kernel(replace(entry.kernel, executable=executable), members[_CODE])
        except (UserError, IndexError, ValueError):
            return None

    def keep(self, loaded: LoadedKernel) -> None:
        """Keep a kernel for the next process, if it can be kept."""
        if loaded.code is None or changed_since_import():
            return
        kernel = loaded.kernel
        interface = kernel.executable.interface
        first: dict[Location | None, int] = {None: 0}
        for place, location in enumerate(self._locations, 1):
            first.setdefault(location, place)
        sites = [[site.at for site in stage.checks] for stage in interface.stages]
        if any(at not in first for stage in sites for at in stage):
            return  # a place that the program does not know, which the next one would not have
        plain = interface.located(lambda site: replace(site, at=None))
        entry = _Entry(
            replace(kernel, executable=replace(kernel.executable, interface=plain)),
            tuple(tuple(first[at] for at in stage) for stage in sites),
        )
        self._cache.put(self._key, write_bundle(_FORM, entry, {_CODE: loaded.code}))


def _with_locations(entry: _Entry, places: tuple[Location | None, ...]) -> Interface:
    """Return an entry's interface whose checks are located where this program's own parts come from."""
    interface = entry.kernel.executable.interface
    stages = []
    for stage, origins in zip(interface.stages, entry.origins, strict=True):
        pairs = zip(stage.checks, origins, strict=True)
        checks = tuple(replace(site, at=places[at - 1] if at else None) for site, at in pairs)
        stages.append(replace(stage, checks=checks))
    return replace(interface, stages=tuple(stages))
