"""Cache keys of compiled kernels: a hash of everything that they depend on."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import chain

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
    """Return a hash of the compiler: sources of these packages and libraries that they use, by size and time."""
    found = [sys.version, *(_files(package, ".py", _every_folder) for package in packages)]
    found += [_files(package, ".so", _library_folders) for package in _TOOLS]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def changed_since_import(packages: tuple[str, ...]) -> bool:
    """Return whether a source is newer than this process: what it compiles is then not what the sources say now."""
    return any(time > _BEGUN for each in packages for _, _, time in _files(each, ".py", _every_folder))


def _files(package: str, suffix: str, folders: Callable[[str], Iterator[str]]) -> list[tuple[str, int, int]]:
    """Return the paths, sizes and times of the files of an installed package, sorted.

    Raises `OSError` if they stand in no folder.
    """
    spec = find_spec(package)
    roots = list(spec.submodule_search_locations or ()) if spec else []
    if not roots:
        raise FileNotFoundError(f"package '{package}' stands in no folder")
    entries = chain.from_iterable(map(os.scandir, chain.from_iterable(map(folders, roots))))
    found = [(each.path, each.stat()) for each in entries if each.name.endswith(suffix)]
    return sorted((path, status.st_size, status.st_mtime_ns) for path, status in found)


def _every_folder(root: str) -> Iterator[str]:
    yield root
    for each in os.scandir(root):
        if each.is_dir() and each.name != "__pycache__":
            yield from _every_folder(each.path)


def _library_folders(root: str) -> Iterator[str]:
    yield root
    if os.path.isdir(inner := os.path.join(root, "lib")):
        yield inner


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
