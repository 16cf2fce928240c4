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
PACKAGES = ("ragged",)
"""The packages with the sources of the compiler."""


def find_analyses(text: str, name: str) -> dict[str, AnalysedFunction] | None:
    """Return the functions of a text that is called `name`; None if they are not kept."""
    opened = open_entry("analyses", text, name)
    data = None if opened is None else opened[0].get(opened[1])
    if data is None:
        return None
    found: dict[str, AnalysedFunction] = loads(data, _AXES)
    return found


def keep_analyses(text: str, name: str, found: Mapping[str, AnalysedFunction]) -> None:
    """Keep the functions of a text, if possible."""
    opened = open_entry("analyses", text, name)
    if opened is None or changed_since_import(PACKAGES):
        return
    with suppress(RecursionError):  # expressions that are nested deeply
        opened[0].put(opened[1], dumps(dict(found), _AXES))


def open_entry(kind: str, *parts: object) -> tuple[DiskCache, str] | None:
    """Return this user's cache and the key in it of what is made from `parts` by this compiler; None without a cache.

    The key hashes their representations.
    """
    folder = cache_folder()
    if folder is None:
        return None
    try:
        made = (kind, *parts, compiler_identity(PACKAGES), sys.version)
    except OSError:
        return None  # the compiler cannot be identified
    return DiskCache(folder, LIMIT), sha256(repr(made).encode()).hexdigest()
