"""Pickles of programs with symbols that modules know by identity: each stands as its name, and is itself again."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any, TypeAlias

from ragged.ir.expr import Dim, Var

Known: TypeAlias = Mapping[Any, str]
"""The names of those symbols, of dims or variables."""


def dumps(found: object, known: Known) -> bytes:
    """Return a pickle; raises `RecursionError` for expressions that are nested too deeply."""
    file = io.BytesIO()
    _SymbolPickler(file, known).dump(found)
    return file.getvalue()


def loads(data: bytes, known: Known) -> Any:
    """Return what `dumps` was given, with the symbols of `known` themselves."""
    return _SymbolUnpickler(io.BytesIO(data), known).load()


class _SymbolPickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, known: Known) -> None:
        super().__init__(file)
        self._known = known

    def persistent_id(self, obj: object) -> str | None:
        return self._known.get(obj) if isinstance(obj, Dim | Var) else None


class _SymbolUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, known: Known) -> None:
        super().__init__(file)
        self._symbols = {name: symbol for symbol, name in known.items()}

    def persistent_load(self, pid: str) -> Any:
        return self._symbols[pid]
