"""Analyses in this user's cache: the functions of a text that was checked before."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256

from ragged.compiled.kernel_cache import LIMIT, cache_folder
from ragged.compiled.key import changed_since_import, compiler_identity
from ragged.ir.pickles import dumps, loads
from ragged.runtime.disk_cache import DiskCache
from ragged.tc.analyse import AnalysedFunction
from ragged.tc.checked import AXES

_AXES = {var: var.name for var in AXES}
"""They are compared by identity."""
_PACKAGES = ("ragged",)


def find_analyses(text: str, name: str) -> dict[str, AnalysedFunction] | None:
    """Return the functions of a text that is called `name`; None if they are not kept."""
    opened = _open(text, name)
    data = None if opened is None else opened[0].get(opened[1])
    if data is None:
        return None
    found: dict[str, AnalysedFunction] = loads(data, _AXES)
    return found


def keep_analyses(text: str, name: str, found: Mapping[str, AnalysedFunction]) -> None:
    """Keep the functions of a text, if possible."""
    opened = _open(text, name)
    if opened is None or changed_since_import(_PACKAGES):
        return
    with suppress(RecursionError):  # expressions that are nested deeply
        opened[0].put(opened[1], dumps(dict(found), _AXES))


def _open(text: str, name: str) -> tuple[DiskCache, str] | None:
    """Return the cache and the key of a text; None without a cache."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        parts = ("analyses", text, name, compiler_identity(_PACKAGES), sys.version)
    except OSError:
        return None  # the compiler cannot be identified
    return DiskCache(folder, LIMIT), sha256(repr(parts).encode()).hexdigest()
