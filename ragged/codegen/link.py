"""From an object file to a shared library, by whatever linker this machine has."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ragged.codegen.elf import architecture_in

_LINKERS = ("ld", "ld.lld", "ld.gold", "ld.mold")
_DRIVERS = ("cc", "gcc", "clang")
"""Compilers, which find a linker that is not on the path."""
_SECONDS = 60


def link(objects: bytes) -> bytes | None:
    """Return the shared library of an object file, or None where no linker is found that makes one of it.

    For another processor that is lld, or a linker with the architecture in its name, as Debian's cross compilers have.
    The library needs no other: what it does not define is looked up in the process that loads it. Debugging
    information, which tells of no source that a user has, is left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "stages.o", Path(folder) / "stages.so"
        source.write_bytes(objects)
        commands = (command for prefix in _prefixes(objects) for command in _commands(prefix))
        return next((library.read_bytes() for command in commands if _makes(command, source, library)), None)


def _prefixes(objects: bytes) -> tuple[str, ...]:
    """Return what the names of programs that may link the objects begin with."""
    architecture = architecture_in(objects)
    return ("",) if architecture is None else ("", f"{architecture}-linux-gnu-")


def linkers() -> list[str]:
    """Return the paths of the programs that `link` tries, in order."""
    return [command[0] for command in _commands("")]


def _commands(prefix: str) -> Iterator[list[str]]:
    options = ["-shared", "--strip-debug", "-z", "relro", "-z", "now", "-z", "noexecstack", "--build-id=none"]
    yield from ([path, *options] for name in _LINKERS if (path := shutil.which(prefix + name)))
    passed = ["-shared", "-nostdlib", *(f"-Wl,{option}" for option in options[1:])]
    yield from ([path, *passed] for name in _DRIVERS if (path := shutil.which(prefix + name)))


def _makes(command: list[str], source: Path, library: Path) -> bool:
    """Return whether the command made the library of the object file: a linker may be for another machine."""
    try:
        made = subprocess.run(
            [*command, "-o", library, source], check=False, capture_output=True, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return made.returncode == 0 and library.is_file()
