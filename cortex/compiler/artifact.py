"""Compiled functions as files: `fn.save`, and what `cortex.load` reads."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import safetensors.numpy

from cortex.compiler.described import Described
from cortex.compiler.kernel import Kernel, load_kernel
from cortex.compiler.made import Made
from cortex.compiler.parameters import Array
from cortex.linearize import Vocab
from ragged.codegen.entry import CheckSite
from ragged.codegen.interface import Interface
from ragged.errors import DataError, InternalError, Location, ModelError, UserError
from ragged.ir.expr import Role
from ragged.runtime.bundle import Form, read_bundle, write_bundle
from ragged.runtime.team import check_workers

_CODE, _PARAMETERS, _VOCABULARY = "code.so", "parameters.safetensors", "vocabulary.json"


@dataclass(frozen=True, slots=True)
class Saved:
    """What the manifest of an artifact says: `software` is the version of Cortex that made it, for people."""

    software: str
    kernel: Kernel
    model: Described
    threads: int | None
    keep_nodes: bool
    children: str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words in the order of their rows, and which of them stands for unknown ones."""

    words: list[str]
    unknown: str | None


FORM = Form("compiled function", 1, Saved, frozenset((_CODE, _PARAMETERS)), frozenset((_VOCABULARY,)))


def save(made: Made, params: Mapping[str, Array], path: str | os.PathLike[str]) -> None:
    """Write a function to a file: see `RecursiveFunction.save`."""
    code = made.kernel.code
    if code is None:
        raise UserError(
            "save: the function has no code that can be saved",
            because="it was compiled where no linker was found, straight into the process",
            fix="install binutils or a C compiler (`ld` or `cc` on the PATH), and compile it again",
        )
    members = {_CODE: code, _PARAMETERS: safetensors.numpy.save(dict(params))}
    if made.vocab is not None:
        words = list(made.vocab)
        unknown = None if made.vocab.unknown is None else words[made.vocab.unknown]
        members[_VOCABULARY] = msgspec.json.encode(Vocabulary(words, unknown))
    kernel = _without_folders(made.kernel.kernel)
    saved = Saved(
        _version(), kernel, made.model, made.threads, keep_nodes=made.keep_nodes, children=made.children
    )
    _replace(Path(path), write_bundle(FORM, saved, members))


def read_artifact(data: bytes, threads: int | None) -> tuple[Made, dict[str, Array]]:
    """Return what `save` wrote, its code loaded after everything has been checked, and the parameters."""
    saved, members = read_bundle(FORM, data)
    threads = saved.threads if threads is None else threads
    workers = check_workers(threads)
    params = _parameters(members[_PARAMETERS])
    vocab = _vocabulary(members.get(_VOCABULARY))
    _check_names(saved.kernel.executable.interface, saved.model)
    kernel = load_kernel(saved.kernel, members[_CODE])
    return Made(kernel, saved.model, threads, workers, saved.keep_nodes, vocab, saved.children), params


def _check_names(interface: Interface, model: Described) -> None:
    """Return if what the code reads and gives is what the model has."""
    try:
        named = interface.named(Role.PARAMETER), interface.named(Role.OUTPUT)
    except (InternalError, ModelError) as fault:
        raise DataError("compiled code is not what its description says", because=fault.what) from None
    parameters, outputs = map(sorted, named)
    if not set(parameters) <= set(model.parameters) or outputs != sorted(model.outputs):
        raise DataError(
            "the code is of another model than the one that is described",
            because=f"it reads {', '.join(parameters)} and gives {', '.join(outputs)}",
        )


def _parameters(data: bytes) -> dict[str, Array]:
    try:
        return dict(safetensors.numpy.load(data))
    except Exception as error:  # whatever the library raises: a header of numbers that no bytes are behind
        raise DataError(f"{_PARAMETERS} cannot be read", because=str(error)) from None


def _vocabulary(data: bytes | None) -> Vocab | None:
    if data is None:
        return None
    try:
        read = msgspec.json.decode(data, type=Vocabulary)
    except msgspec.MsgspecError as error:
        raise DataError(f"{_VOCABULARY} cannot be read", because=str(error)) from None
    return Vocab(read.words, read.unknown)


def _without_folders(kernel: Kernel) -> Kernel:
    """Return the kernel with the names of source files alone: where they stand is nobody else's business."""

    def plain(site: CheckSite) -> CheckSite:
        at = site.at
        return site if at is None else replace(site, at=Location(os.path.basename(at.file), at.line))

    executable = kernel.executable
    return replace(kernel, executable=replace(executable, interface=executable.interface.located(plain)))


def _replace(path: Path, data: bytes) -> None:
    """Write a file, or leave what stands there as it is."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _version() -> str:
    from importlib import metadata  # here: it costs loading, which needs none of it, 20 ms

    try:
        return metadata.version("cortex-compiler")
    except metadata.PackageNotFoundError:
        return "not installed"
