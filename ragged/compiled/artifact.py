"""Compiled functions as files: `CompiledFunction.save` and `load`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias

import msgspec
import numpy.typing as npt
import safetensors.numpy

from ragged.codegen.entry import CheckSite
from ragged.compiled.kernel import CUBIN, Kernel
from ragged.compiled.parts import CompiledParts, S
from ragged.compiled.saved_parameters import PARAMETERS, load_parameters
from ragged.errors import DataError, ModelError, UserError
from ragged.runtime import processor
from ragged.runtime.bundle import FileFormat, read_bundle, write_bundle

Array = npt.NDArray[Any]


class ByteSink(Protocol):
    """A stream that bytes are written to."""

    def write(self, data: bytes, /) -> object:
        """Take the bytes."""


class ByteSource(Protocol):
    """A stream that bytes are read from."""

    def read(self) -> bytes:
        """Return all that is left."""


Target: TypeAlias = str | os.PathLike[str] | ByteSink
Origin: TypeAlias = str | os.PathLike[str] | bytes | ByteSource
CODE = "code.so"
"""The member of every file that is its code."""
_ALTERNATIVES = "alternatives.msgpack"
"""A list of shared libraries: the code of a manifest's alternatives, in order."""


@dataclass(frozen=True, slots=True)
class Alternative(Generic[S]):
    """The same function for another processor; it has the same parameters."""

    kernel: Kernel
    signature: S


@dataclass(frozen=True, slots=True)
class Artifact(Generic[S]):
    """The manifest of a file: `software` is the version that wrote it, for people."""

    software: str
    kernel: Kernel
    signature: S
    threads: int | None
    alternatives: tuple[Alternative[S], ...] = ()


def artifact_form(name: str, version: int, content: Any, *optional: str) -> FileFormat[Any]:
    """Return the form of a front end's files; `content` is `Artifact` with its signature's type."""
    others = frozenset((CUBIN, _ALTERNATIVES, *optional))
    return FileFormat(name, version, content, frozenset((CODE, PARAMETERS)), others)


def save(
    form: FileFormat[Any],
    parts: CompiledParts[Any],
    others: Sequence[CompiledParts[Any]],
    params: Mapping[str, Array],
    target: Target,
    members: Mapping[str, bytes],
) -> None:
    """Write a function, with `members` of its front end, to a stream, or to a file, which is replaced as a whole.

    `others` are the same function for other processors.

    Raises:
        UserError: the function has no code that can be saved.
    """
    write_to(target, artifact_bytes(form, parts, others, params, members, software=_software()))


def artifact_bytes(
    form: FileFormat[Any],
    parts: CompiledParts[Any],
    others: Sequence[CompiledParts[Any]],
    params: Mapping[str, Array],
    members: Mapping[str, bytes],
    *,
    software: str,
) -> bytes:
    """Return the bytes of the file that `save` writes; raises as it does."""
    code, *further = map(_code, (parts, *others))
    cubin = parts.kernel.cubin
    device = {} if cubin is None else {CUBIN: cubin}
    more = {_ALTERNATIVES: msgspec.msgpack.encode(further)} if further else {}
    own = {CODE: code, PARAMETERS: safetensors.numpy.save(dict(params)), **device, **more, **members}
    alternatives = tuple(Alternative(without_folders(each.kernel.kernel), each.signature) for each in others)
    kernel = without_folders(parts.kernel.kernel)
    return write_bundle(form, Artifact(software, kernel, parts.signature, parts.threads, alternatives), own)


def _code(parts: CompiledParts[Any]) -> bytes:
    if parts.kernel.code is None:
        raise UserError(
            "save: the function has no code that can be saved",
            because="it was compiled where no linker was found, straight into the process",
            fix="install binutils or a C compiler (`ld` or `cc` on the PATH), and compile it again",
        )
    return parts.kernel.code


def write_to(target: Target, data: bytes) -> None:
    """Write bytes to a stream, or to a file, which is replaced as a whole."""
    if isinstance(target, str | os.PathLike):
        _replace_file(Path(target), data)
    else:
        write = _method(target, "write", "save")
        try:
            write(data)
        except TypeError as error:  # a stream of text
            raise UserError(
                f"save: {target!r} takes no bytes", because=str(error), fix="io.BytesIO()"
            ) from None


def read_artifact(
    form: FileFormat[Artifact[S]], data: bytes
) -> tuple[Artifact[S], dict[str, Array], dict[str, bytes]]:
    """Return a file's manifest, parameters and members, checked; none of its code has been loaded.

    Of several targets it is the manifest, and the code, of the one that fits this processor best: code that it can run
    and that may use most of its features.

    Raises:
        DataError: the bytes are no such file, of another version, damaged, or do not fit together.
    """
    saved, members = read_bundle(form, data)
    if saved.alternatives:
        saved, members[CODE] = _fitting(saved, members)
    wrong = next(saved.signature.faults(saved.kernel.executable), None)
    if wrong is not None:
        raise DataError(f"the file does not describe a {form.name}", because=wrong)
    return saved, load_parameters(members[PARAMETERS]), members


def _fitting(saved: Artifact[S], members: Mapping[str, bytes]) -> tuple[Artifact[S], bytes]:
    try:
        further = msgspec.msgpack.decode(members.get(_ALTERNATIVES, b""), type=list[bytes])
    except msgspec.DecodeError as error:
        raise DataError(f"{_ALTERNATIVES} cannot be read", because=str(error)) from None
    if len(further) != len(saved.alternatives):
        raise DataError(
            f"{_ALTERNATIVES} holds code for {len(further)} targets, not {len(saved.alternatives)}"
        )

    def fit(choice: tuple[Alternative[S], bytes]) -> tuple[bool, int]:
        executable = choice[0].kernel.executable
        runs, features = executable.runs_here, executable.features
        return runs, len(features) if runs else -len(processor.missing(features))

    first = Alternative(saved.kernel, saved.signature), members[CODE]
    best, code = max((first, *zip(saved.alternatives, further, strict=True)), key=fit)
    return replace(saved, kernel=best.kernel, signature=best.signature, alternatives=()), code


def without_folders(kernel: Kernel) -> Kernel:
    """Return the kernel with the names of source files without their folders, which are private."""

    def plain(site: CheckSite) -> CheckSite:
        at = site.at
        return site if at is None else replace(site, at=replace(at, file=os.path.basename(at.file)))

    own, *preludes = (each.located(plain) for each in kernel.executable.interfaces)
    executable = replace(kernel.executable, interface=own, preludes=tuple(preludes))
    return replace(kernel, executable=executable)


def read_bytes(origin: Origin) -> bytes:
    """Return the bytes of a file, of a stream, or those given."""
    if isinstance(origin, bytes | bytearray | memoryview):
        return bytes(origin)
    if isinstance(origin, str | os.PathLike):
        return Path(origin).read_bytes()
    data: bytes = _method(origin, "read", "load")()
    return data


def _method(stream: object, name: str, what: str) -> Any:
    """Return a method of a stream; raises `UserError` for what is none."""
    if not hasattr(stream, name):
        raise UserError(
            f"{what}: {stream!r} is neither a path nor a stream with {name}()",
            fix=f'{what} with a path, as "model.cortex", or with a stream of bytes, as io.BytesIO()',
        )
    return getattr(stream, name)


@contextmanager
def reading(origin: Origin) -> Iterator[None]:
    """Name the file in errors about it."""
    try:
        yield
    except (DataError, ModelError) as error:
        named = os.fspath(origin) if isinstance(origin, str | os.PathLike) else "the bytes"
        raise DataError(
            f"load: {named}: {error.what}",
            because=error.because,
            example=error.example,
            fix=error.fix,
        ) from None


def _replace_file(path: Path, data: bytes) -> None:
    """Write a file, or leave the old one as it is."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _software() -> str:
    """Return the name and version of the distribution that has this package."""
    from importlib import metadata  # here: loading, which does not need it, would take 20 ms more

    for name in metadata.packages_distributions().get("ragged", ()):
        return f"{name} {metadata.version(name)}"
    return "not installed"
