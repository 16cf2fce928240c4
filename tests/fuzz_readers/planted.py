"""Readers with a fault each, which the fuzzer has to find; and one that refuses everything."""

from __future__ import annotations

import os
from typing import NoReturn

from ragged.errors import DataError
from tests.fuzz_readers.reader import Reader


def _foreign(data: bytes) -> object:
    return data.decode("ascii") if b"((" in data else None


def _crash(data: bytes) -> None:
    if b"((" in data:
        os.abort()


def _endless(data: bytes) -> None:
    while b"((" in data:
        pass


def _large(data: bytes) -> object:
    return bytes(4 << 30) if b"((" in data else None


def _nested(data: bytes) -> None:
    """Fail for one in 2^32 of random inputs: libFuzzer keeps an input for each comparison that it gets through."""
    if data[0:1] != b"\x91":
        return
    if data[1:2] != b"\xd3":
        return
    if data[2:3] != b"\x07":
        return
    if data[3:4] == b"\xb8":
        raise IndexError("nested")


def _refusing(data: bytes) -> NoReturn:
    raise DataError("no")


def readers() -> dict[str, Reader]:
    """Return the readers by name."""
    found = (_foreign, _crash, _endless, _large, _nested, _refusing)
    return {read.__name__.lstrip("_"): Reader((b"(a b)\xff",), (b"((",), read) for read in found}
