"""The user's cache of compiled kernels on disk, shared by processes.

Entries are checked when they are read and may be removed at any time; a fault of the folder is never an error: see
`ragged.runtime.disk_cache`.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from ragged.codegen.interface import Interface
from ragged.codegen.target import read_target
from ragged.compiled.kernel import CUBIN, Kernel, LoadedKernel, load_kernel
from ragged.compiled.key import Recipe, changed_since_import, key_of, locations
from ragged.compiled.log import CACHE, configure
from ragged.compiled.progress import reported_if_slow
from ragged.errors import Location, UserError
from ragged.front_ends import application, setting
from ragged.runtime.bundle import FileFormat, read_bundle, write_bundle
from ragged.runtime.disk_cache import DiskCache

LIMIT = 1 << 30
"""The most bytes that the folder may hold."""

_CODE = "code.so"
_COMPILER = {"islpy": "islpy", "tvm": "apache-tvm", "z3": "z3-solver"}
"""The packages that compiling needs and running does not, by module."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A kernel without locations in its checks, and for each check the part of the lowered programs it comes from.

    `origins` are 1-based positions in `locations(programs)`, by program and stage; 0 is none.
    """

    kernel: Kernel
    origins: tuple[tuple[tuple[int, ...], ...], ...]


_FORM = FileFormat("cached kernel", 3, _Entry, frozenset((_CODE,)), frozenset((CUBIN,)))


def cache_folder() -> Path | None:
    """Return the folder of this user's cache, or None if it is switched off.

    It is the setting `CACHE_DIR` (see `ragged.front_ends`), empty for none, or else the system's folder for caches:
    `~/.cache/cortex` for that front end.
    """
    named = setting("CACHE_DIR")
    if named is None:
        usual = Path(platformdirs.user_cache_dir(application(), appauthor=False))
        return usual if usual.is_absolute() else None  # relative: a user without a home
    return Path(named) if named else None


def find_or_make(recipe: Recipe, make: Callable[[], LoadedKernel], *, cache: bool) -> LoadedKernel:
    """Return the kernel of a recipe: from this user's cache, if there is one, or as `make` compiles it.

    Raises what `make` does, and `UserError` for a target that is not known, or where the compiler is not installed.
    """
    configure()
    entry = _open(recipe) if cache else None
    found = None if entry is None else entry.find()
    if found is not None:
        return found
    with reported_if_slow("a kernel"), _no_collection():
        made = _made(make)
    if entry is not None:
        entry.keep(made)
    return made


def _made(make: Callable[[], LoadedKernel]) -> LoadedKernel:
    try:
        return make()
    except ModuleNotFoundError as error:
        if error.name not in _COMPILER:
            raise
        raise UserError(
            f"compile: the package '{error.name}' is not installed",
            because="without the compiler's packages saved functions can be loaded and called, and none compiled",
            fix=f"pip install {_COMPILER[error.name]}, or all that cortex-compiler needs",
        ) from None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Leave reference cycles to later: programs have none, and looking for some takes a twentieth of a compilation."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _open(recipe: Recipe) -> KernelCache | None:
    folder = cache_folder()
    try:
        return None if folder is None else KernelCache(folder, recipe)
    except OSError:  # the compiler cannot be identified
        return None


class KernelCache:
    """The cache entry of one recipe."""

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        """Compute the key; raises as `key_of` does."""
        self._cache = DiskCache(folder, LIMIT)
        self._locations = locations(recipe.programs)
        self._packages = recipe.packages
        self._anywhere = read_target(recipe.target) is not None  # "cpu" is what runs here
        self._key = key_of(recipe)

    def find(self) -> LoadedKernel | None:
        """Return the loaded kernel, or None without a usable entry."""
        loaded = self._load(self._cache.get(self._key))
        CACHE.info("%s %s", "miss" if loaded is None else "hit", self._key)
        return loaded

    def _load(self, data: bytes | None) -> LoadedKernel | None:
        if data is None:
            return None
        try:
            entry, members = read_bundle(_FORM, data)
            kernel = entry.kernel
            pairs = zip(kernel.executable.interfaces, entry.origins, strict=True)
            located = [_with_locations(each, origins, self._locations) for each, origins in pairs]
            kernel, cubin = _with_interfaces(kernel, located), members.get(CUBIN)
            return load_kernel(kernel, members[_CODE], cubin, anywhere=self._anywhere)
        except (UserError, IndexError, ValueError):
            return None

    def keep(self, loaded: LoadedKernel) -> None:
        """Store a kernel, if possible."""
        if loaded.code is None or changed_since_import(self._packages):
            return
        first: dict[Location | None, int] = {None: 0}
        for place, location in enumerate(self._locations, 1):
            first.setdefault(location, place)
        interfaces = loaded.kernel.executable.interfaces
        sites = [[[site.at for site in stage.checks] for stage in each.stages] for each in interfaces]
        if any(at not in first for each in sites for stage in each for at in stage):
            return  # a location that other programs with this key would not have
        plain = [each.located(lambda site: replace(site, at=None)) for each in interfaces]
        origins = tuple(tuple(tuple(first[at] for at in stage) for stage in each) for each in sites)
        entry = _Entry(_with_interfaces(loaded.kernel, plain), origins)
        device = {} if loaded.cubin is None else {CUBIN: loaded.cubin}
        error = self._cache.put(self._key, write_bundle(_FORM, entry, {_CODE: loaded.code, **device}))
        if error is None:
            CACHE.info("store %s", self._key)
        else:
            _warn(self._cache.folder, str(error))


@functools.cache
def _warn(folder: Path, why: str) -> None:
    """Log, once, that nothing can be kept."""
    CACHE.warning("the cache %s keeps nothing, and each process compiles anew: %s", folder, why)


def _with_interfaces(kernel: Kernel, interfaces: list[Interface]) -> Kernel:
    own, *preludes = interfaces
    return replace(kernel, executable=replace(kernel.executable, interface=own, preludes=tuple(preludes)))


def _with_locations(
    interface: Interface, origins: tuple[tuple[int, ...], ...], places: tuple[Location | None, ...]
) -> Interface:
    """Return an entry's interface with the locations of these programs in its checks."""
    stages = []
    for stage, own in zip(interface.stages, origins, strict=True):
        pairs = zip(stage.checks, own, strict=True)
        checks = tuple(replace(site, at=places[at - 1] if at else None) for site, at in pairs)
        stages.append(replace(stage, checks=checks))
    return replace(interface, stages=tuple(stages))
