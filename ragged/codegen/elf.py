"""Reading the symbol table of a 64-bit little-endian ELF file: enough to see what generated code calls."""

from __future__ import annotations

import struct

from ragged.errors import InternalError

_SYMBOL_TABLE, _DYNAMIC_SYMBOLS = 2, 11
_UNDEFINED = 0


def undefined_symbols(data: bytes) -> frozenset[str]:
    """Return the names of the undefined symbols in an object file or shared library, given its bytes."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise InternalError("not a 64-bit little-endian ELF file")
    table, entry_size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * entry_size) for i in range(count)]
    names: set[str] = set()
    for _, kind, _, _, offset, size, link, _, _, _ in sections:
        if kind in (_SYMBOL_TABLE, _DYNAMIC_SYMBOLS):
            names |= _undefined_in(data, offset, size, strings=sections[link][4])
    return frozenset(names)


def _undefined_in(data: bytes, offset: int, size: int, strings: int) -> set[str]:
    names = set()
    for symbol in range(offset, offset + size, 24):
        name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", data, symbol)
        if section == _UNDEFINED and name:
            names.add(data[strings + name : data.index(b"\0", strings + name)].decode())
    return names
