"""Expressions keep what is computed of a whole tree: their hash, and their variables."""

from __future__ import annotations

from typing import Any, TypeVar

_T = TypeVar("_T")


class HashedNode:
    """What is computed once of an expression, when it is first asked for: its hash and its variables."""

    __slots__ = ("_hash", "_variables")

    _hash: int
    _variables: frozenset[Any]


def hash_once(cls: type[_T]) -> type[_T]:
    """Make a class of nodes keep the hash that its dataclass computes: that of a whole tree, asked of every part."""
    compute = cls.__hash__

    def __hash__(self: Any) -> int:
        try:
            return self._hash  # type: ignore[no-any-return]
        except AttributeError:
            value = compute(self)
            object.__setattr__(self, "_hash", value)
            return value

    cls.__hash__ = __hash__  # type: ignore[method-assign]
    return cls
