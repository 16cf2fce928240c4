"""Names in the text of programs."""

from __future__ import annotations

import keyword
from itertools import chain, count

from ragged.ir.elementwise import FUNCTIONS

_OWN = ("abs", "check", "facts", "fma", "max", "min", "sum", "workers")
_RESERVED = frozenset((*keyword.kwlist, *FUNCTIONS, *_OWN))
"""Reserved names in the text of programs."""


class ProgramNames:
    """The names that a program has so far."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def fresh(self, wanted: str) -> str:
        """Return a name like `wanted` that nothing has, and note it as used."""
        base = f"{wanted}_" if wanted in _RESERVED else wanted
        found = next(
            each for each in chain((base,), (f"{base}_{k}" for k in count(2))) if each not in self.taken
        )
        self.taken.add(found)
        return found
