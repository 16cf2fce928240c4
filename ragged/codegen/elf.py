"""Reading the symbol table of a 64-bit little-endian ELF file: enough to see what generated code has and calls."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ragged.errors import InternalError

_SYMBOL_TABLE, _DYNAMIC_SYMBOLS = 2, 11
_UNDEFINED = 0
_ARCHITECTURES = {62: "x86_64", 183: "aarch64"}
"""What Linux calls the machines of a file's header."""


def architecture_in(data: bytes) -> str | None:
    """Return the architecture that an ELF file has code for; None for another one, or for what is no such file."""
    is_elf = data[:6] == b"\x7fELF\x02\x01" and len(data) >= 20
    return _ARCHITECTURES.get(struct.unpack_from("<H", data, 0x12)[0]) if is_elf else None


def undefined_symbols(data: bytes) -> frozenset[str]:
    """Return the names of the undefined symbols in an object file or shared library, given its bytes.

    Raises `InternalError` for what is no such file.
    """
    return frozenset(name for name, section, _ in _symbols(data) if section == _UNDEFINED)


def defined_symbols(data: bytes) -> frozenset[str]:
    """Return the names of the symbols that an object file or shared library defines. Raises as the other does."""
    return frozenset(name for name, section, _ in _symbols(data) if section != _UNDEFINED)


def symbol_bytes(data: bytes) -> dict[str, int]:
    """Return the bytes of each function or object that an object file or shared library defines. Raises likewise."""
    return {name: size for name, section, size in _symbols(data) if section != _UNDEFINED and size}


def _symbols(data: bytes) -> list[tuple[str, int, int]]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise InternalError("not a 64-bit little-endian ELF file")
    try:
        return [symbol for symbol in _read(data) if symbol[0]]
    except (struct.error, IndexError, ValueError) as error:
        raise InternalError(f"not an ELF file that can be read: {error}") from None


def _read(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield each symbol's name, the number of the section that it is in, and its bytes."""
    table, entry_size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * entry_size) for i in range(count)]
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind not in (_SYMBOL_TABLE, _DYNAMIC_SYMBOLS):
            continue
        strings = sections[link][4]
        for symbol in range(offset, min(offset + size, len(data)), 24):
            name, _, _, section, _, length = struct.unpack_from("<IBBHQQ", data, symbol)
            yield data[strings + name : data.index(b"\0", strings + name)].decode(), section, length
