"""A reader as the fuzzer calls it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ragged.errors import UserError


@dataclass(frozen=True)
class Reader:
    """Something that reads files or texts. `read` may raise a `UserError`, and nothing else.

    `seeds` are right inputs that others are made of, `words` what is inserted into them, 64 bytes each at most.
    A reader of files writes them into the working folder, which is each process's own.
    """

    seeds: Sequence[bytes]
    words: Sequence[bytes]
    read: Callable[[bytes], object]

    def accept(self, data: bytes) -> None:
        """Read an input, or refuse it."""
        with suppress(UserError):
            self.read(data)
