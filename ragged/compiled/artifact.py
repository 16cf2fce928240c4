"""Compiled functions as files: what all forms of them have in common."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt
import safetensors.numpy

from ragged.codegen.entry import CheckSite
from ragged.codegen.interface import Interface
from ragged.compiled.kernel import CUBIN, Kernel, LoadedKernel
from ragged.errors import DataError, InternalError, Location, ModelError, UserError
from ragged.ir.expr import Role

Array = npt.NDArray[Any]

CODE, PARAMETERS = "code.so", "parameters.safetensors"
"""Members that every such file has."""


def members_of(loaded: LoadedKernel, params: Mapping[str, Array]) -> dict[str, bytes]:
    """Return the members `CODE` and `PARAMETERS` of a function's file, and `CUBIN` if it has one.

    Raises:
        UserError: there is no code that can be saved.
    """
    if loaded.code is None:
        raise UserError(
            "save: the function has no code that can be saved",
            because="it was compiled where no linker was found, straight into the process",
            fix="install binutils or a C compiler (`ld` or `cc` on the PATH), and compile it again",
        )
    device = {} if loaded.cubin is None else {CUBIN: loaded.cubin}
    return {CODE: loaded.code, PARAMETERS: safetensors.numpy.save(dict(params)), **device}


def read_parameters(members: Mapping[str, bytes]) -> dict[str, Array]:
    """Return the arrays that `members_of` stored; `DataError` if they cannot be read."""
    try:
        return dict(safetensors.numpy.load(members[PARAMETERS]))
    except Exception as error:  # whatever the library raises: a header of numbers that no bytes are behind
        raise DataError(f"{PARAMETERS} cannot be read", because=str(error)) from None


def names_of(interface: Interface, role: Role) -> frozenset[str]:
    """Return the names of a program's buffers of a role; `DataError` for what describes no program."""
    try:
        return interface.named(role)
    except (InternalError, ModelError) as fault:
        raise DataError("compiled code is not what its description says", because=fault.what) from None


def check_names(
    interface: Interface, what: str, parameters: Collection[str], outputs: Collection[str]
) -> None:
    """Return if what the code reads and gives is what a description of `what`, "a model", says.

    Raises:
        DataError: it is not.
    """
    read = names_of(interface, Role.PARAMETER)
    given = names_of(interface, Role.OUTPUT)
    if not read <= set(parameters) or given != set(outputs):
        raise DataError(
            f"the code is of another {what} than the one that is described",
            because=f"it reads {', '.join(sorted(read))} and gives {', '.join(sorted(given))}",
        )


def without_folders(kernel: Kernel) -> Kernel:
    """Return the kernel with the names of source files alone: where they stand is nobody else's business."""

    def plain(site: CheckSite) -> CheckSite:
        at = site.at
        return site if at is None else replace(site, at=Location(os.path.basename(at.file), at.line))

    own, *preludes = (each.located(plain) for each in kernel.executable.interfaces)
    executable = replace(kernel.executable, interface=own, preludes=tuple(preludes))
    return replace(kernel, executable=executable)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in what is wrong with it."""
    try:
        yield
    except (DataError, ModelError) as error:
        raise DataError(
            f"load: {os.fspath(path)}: {error.what}",
            because=error.because,
            example=error.example,
            fix=error.fix,
        ) from None


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, or leave what stands there as it is."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def software() -> str:
    """Return the version of this software."""
    from importlib import metadata  # here: it costs loading, which needs none of it, 20 ms

    try:
        return metadata.version("cortex-compiler")
    except metadata.PackageNotFoundError:
        return "not installed"
