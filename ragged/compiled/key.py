"""Cache keys of compiled kernels: a hash of everything that they depend on."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ragged.codegen.target import TargetLike, read_target
from ragged.errors import Location
from ragged.ir.expr import Buffer, Dim, Function
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.stmt import For
from ragged.ir.walk import expressions, statements, subexpressions
from ragged.machine import this_machine
from ragged.runtime import processor

_BEGUN = time.time_ns()
_TOOLS = ("tvm", "tvm_ffi", "z3")
"""Third-party packages that decide what is generated."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a kernel is compiled from: lowered programs, the kernel's first and then its preludes.

    `pipeline` names the passes, which follow from `threads`, `options` (as text) and the machine; `dims` are the names
    of dims that passes compare by identity; `packages` are those with the sources of the compiler.
    """

    programs: tuple[Program, ...]
    target: TargetLike
    threads: int
    pipeline: str
    dims: Mapping[Dim, str] = field(default_factory=dict)
    options: str = ""
    packages: tuple[str, ...] = ("ragged",)


def key_of(recipe: Recipe) -> str:
    """Return the cache key of a recipe, as hexadecimal digits.

    It hashes the programs' texts, and what texts do not say: dims that passes know by identity, and symbols' own names.
    Source locations make no difference, but which parts come from one line does: see `locations`.

    Raises:
        UserError: the target is not known.
        OSError: the sources or libraries of the compiler cannot be read.
    """
    target = read_target(recipe.target)
    parts = {
        "programs": [to_text(program) for program in recipe.programs],
        "names": [[symbol.name for symbol in _symbols(program)] for program in recipe.programs],
        "dims": _dims(recipe),
        "lines": _pattern(locations(recipe.programs)),
        "target": "cpu" if target is None else str(target),
        "processor": processor.identity(),
        "machine": repr(this_machine()),
        "threads": recipe.threads,
        "pipeline": recipe.pipeline,
        "options": recipe.options,
        "compiler": compiler_identity(recipe.packages),
    }
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def locations(programs: Sequence[Program]) -> tuple[Location | None, ...]:
    """Return the locations of all statements and expressions, in an order that the programs' texts determine."""
    found: list[Location | None] = []
    for program in programs:
        for stage in program.stages:
            for stmt in statements(stage.body):
                found.append(getattr(stmt, "at", None))
                for expr in expressions(stmt):
                    found.extend(part.at for part in subexpressions(expr))
    return tuple(found)


@cache
def compiler_identity(packages: tuple[str, ...]) -> str:
    """Return a hash of the compiler: the sources of these packages, and the libraries that they use."""
    digest = hashlib.sha256(sys.version.encode())
    for package in packages:
        for path in _files(package, ".py"):
            digest.update(f"\n{path.name} {path.stat().st_size}\n".encode())
            digest.update(path.read_bytes())
    for package in _TOOLS:
        for path in _files(package, ".so"):
            status = path.stat()
            digest.update(f"\n{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def changed_since_import(packages: tuple[str, ...]) -> bool:
    """Return whether a source is newer than this process: what it compiles is then not what the sources say now."""
    paths = (path for package in packages for path in _files(package, ".py"))
    return any(path.stat().st_mtime_ns > _BEGUN for path in paths)


def _files(package: str, suffix: str) -> Iterator[Path]:
    """Yield the files of an installed package, sorted. Raises `OSError` if they stand in no folder."""
    found = find_spec(package)
    folders = sorted(found.submodule_search_locations or ()) if found else []
    if not folders:
        raise FileNotFoundError(f"package '{package}' stands in no folder")
    for folder in folders:
        for parent, inner, names in os.walk(folder):
            inner.sort()
            yield from (Path(parent) / name for name in sorted(names) if name.endswith(suffix))


def _symbols(program: Program) -> tuple[Function | Buffer, ...]:
    return (*program.functions, *program.buffers)


def _dims(recipe: Recipe) -> list[str | int]:
    """Return the dims of buffers and loops: the names by which passes know them, or numbers by first occurrence."""
    first: dict[Dim, int] = {}
    found = (dim for program in recipe.programs for dim in _dims_in(program) if dim is not None)
    return [recipe.dims.get(dim) or first.setdefault(dim, len(first)) for dim in found]


def _dims_in(program: Program) -> Iterator[Dim | None]:
    for buffer in program.buffers:
        yield from buffer.dims
    for stage in program.stages:
        yield from (stmt.dim for stmt in statements(stage.body) if isinstance(stmt, For))


def _pattern(places: tuple[Location | None, ...]) -> list[int]:
    """Return for each location the number of its first occurrence, from 1; 0 for None."""
    first: dict[Location, int] = {}
    return [0 if place is None else first.setdefault(place, at + 1) for at, place in enumerate(places)]
