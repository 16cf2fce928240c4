"""The checks of `cortex doctor` on the installation: packages, extension, compiler, linker, cache.

Each check imports what it tests inside its function, since the import may fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata
from tempfile import TemporaryDirectory

import numpy as np

from cortex.cli.finding import Finding

_DISTRIBUTION = "cortex-compiler"
_INSTALL = "make demo, or in a clone: pip install -e ."
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?(?P<bounds>[^;]*)(?P<marker>;.*)?")
_BOUND = re.compile(r"(?P<sign>>=|<)\s*(?P<version>\d+(?:\.\d+)*)")

_TINY = """
program("tiny")
n: input()
x: output(float32[n])
with kernel:
    for i in serial(n):
        x[i] = 2.0 * float32(i)
"""


def packages() -> Iterator[Finding]:
    """Find the packages that cortex says it runs on, each in a version that it says it takes."""
    try:
        requirements = metadata.requires(_DISTRIBUTION) or []
        yield Finding(_DISTRIBUTION, True, metadata.version(_DISTRIBUTION))
    except metadata.PackageNotFoundError:
        found = "not installed: what it runs on was not looked at"
        yield Finding(_DISTRIBUTION, False, found, _INSTALL, required=False)
        return
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement.strip())
        if match is not None and match["marker"] is None:
            yield _package(match["name"], match["bounds"].strip())


def _package(name: str, bounds: str) -> Finding:
    todo = f"pip install '{name}{bounds}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, False, "not installed", todo)
    if not within(version, bounds):
        return Finding(name, False, f"{version}, not {bounds}", todo)
    return Finding(name, True, version)


def within(version: str, bounds: str) -> bool:
    """Return whether a version is within bounds such as ">=0.27,<0.28"; other conditions count as met."""
    release = _release(version)
    for bound in _BOUND.finditer(bounds):
        limit = _release(bound["version"])
        if (release < limit) if bound["sign"] == ">=" else (release >= limit):
            return False
    return True


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with, padded so that 2 and 2.0 are one."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in match.group().split(".")] if match else []
    return (*numbers, 0, 0, 0, 0)[:4]


def extension() -> Finding:
    """Find the native linearizer, and have it do a tree of three nodes."""
    try:
        from cortex.ilir.plan import Plan, StructureKind
        from cortex.linearize import linearize

        rows = linearize(Plan(StructureKind.TREE, 2, 2, (), (0, 1)), (7, (8, 9))).rows.tolist()
    except Exception as error:  # whatever it is, it is what the user asked for
        return Finding("native linearizer", False, _said(error), _INSTALL)
    right = rows == [2, 3, 4, 1, 0]
    return Finding(
        "native linearizer", right, "works" if right else f"is wrong: {rows}", "" if right else _INSTALL
    )


def compiler() -> Finding:
    """Find TVM by compiling a loop and running it."""
    todo = "pip install --force-reinstall 'apache-tvm>=0.27,<0.28'"
    try:
        from ragged.codegen.build import compile_program
        from ragged.ir.parser import parse
        from ragged.ir.program import StageKind

        compiled = compile_program(parse(_TINY))
        result = np.zeros(5, np.float32)
        compiled.call(StageKind.KERNEL, {"n": 5, "x": result})
    except Exception as error:  # as above
        return Finding("code generation", False, _said(error), todo)
    right = result.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    found = f"works, for {compiled.target}" if right else f"is wrong: {result.tolist()}"
    return Finding("code generation", right, found, "" if right else todo)


def linker() -> Finding:
    """Find what makes a file of compiled code, without which it can neither be saved nor cached."""
    from ragged.codegen.link import linkers

    found = linkers()
    todo = "to save compiled functions and find them again: install binutils, or a C compiler"
    return Finding(
        "linker", bool(found), found[0] if found else "none on the PATH", "" if found else todo, False
    )


def cache() -> Finding:
    """Find the folder where compiled kernels are kept, and say how much is in it."""
    from ragged.compiled.kernel_cache import LIMIT, cache_folder
    from ragged.runtime.disk_cache import DiskCache

    folder = cache_folder()
    if folder is None:
        return Finding(
            "cache", False, "switched off", "unset CORTEX_CACHE_DIR, or name a folder", required=False
        )
    try:
        entries, size = DiskCache(folder, LIMIT).used()
    except FileNotFoundError:
        above = next(each for each in folder.parents if each.exists())
        try:
            TemporaryDirectory(dir=above).cleanup()
        except OSError as error:
            todo = "a folder that can be made: CORTEX_CACHE_DIR"
            return Finding("cache", False, f"{folder} cannot be made: {_said(error)}", todo, required=False)
        return Finding("cache", True, f"{folder}, which does not exist yet", required=False)
    except OSError as error:
        why = "can be made" if isinstance(error, NotADirectoryError) else "no other user may write"
        return Finding(
            "cache",
            False,
            f"{folder}: {_said(error)}",
            f"a folder that {why}: CORTEX_CACHE_DIR",
            required=False,
        )
    return Finding("cache", True, f"{folder}, {entries} kernels, {size / 1e6:.1f} MB", required=False)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
