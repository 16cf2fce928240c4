"""Compiled code and its data in one file, checked as a whole before use.

The file is a zip archive of uncompressed members. The first, `manifest.json`, has the size and the SHA-256 of each
other member; the archive's comment has the manifest's own hash. The hashes find damage; they do not
protect against malice.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from ragged.errors import DataError, InternalError, ProjectError

Content = TypeVar("Content")

MANIFEST = "manifest.json"
_MOST_MANIFEST = 64 * 1024 * 1024
_BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every member: equal content gives equal files."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member in the manifest: its bytes, and the hexadecimal digits of its SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FileFormat(Generic[Content]):
    """A file format: its name and version, the type of the manifest's content, and its members."""

    name: str
    version: int
    content: type[Content]
    required: frozenset[str]
    optional: frozenset[str] = frozenset()


class _Head(msgspec.Struct):
    """The part of a manifest that all versions of all formats share."""

    form: str
    version: int


class _Body(msgspec.Struct):
    members: dict[str, Member]
    content: msgspec.Raw


def write_bundle(form: FileFormat[Content], content: Content, members: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a file of `form`."""
    described = {name: Member(len(data), _sha256(data)) for name, data in members.items()}
    manifest = msgspec.json.format(
        msgspec.json.encode(
            {"form": form.name, "version": form.version, "members": described, "content": content}
        ),
        indent=1,
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = _sha256(manifest).encode()
        for name, data in ((MANIFEST, manifest), *members.items()):
            archive.writestr(zipfile.ZipInfo(name, _BEGINNING), data)
    return file.getvalue()


def read_bundle(form: FileFormat[Content], data: bytes) -> tuple[Content, dict[str, bytes]]:
    """Return the manifest's content of a file of `form`, and its members by name, checked.

    Raises:
        DataError: the bytes are no such file, of another version, or damaged; `because` says why.
    """
    if not data:
        what = f"this is no {form.name}, or it is damaged"
        raise DataError(
            what, because="it is empty", fix="stream.seek(0), where a stream has just been written"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read(form, archive, len(data))
    except ProjectError:
        raise
    # zipfile does not document its exceptions for damaged archives.
    except Exception as error:
        raise _refusal(form, f"it is no archive that can be read: {error}") from None


def _read(form: FileFormat[Content], archive: zipfile.ZipFile, most: int) -> tuple[Content, dict[str, bytes]]:
    found = _members_of(form, archive, most)
    if MANIFEST not in found:
        raise _refusal(form, f"it has no {MANIFEST}")
    if found[MANIFEST].file_size > _MOST_MANIFEST:
        raise _refusal(form, f"its {MANIFEST} is {found[MANIFEST].file_size:,} bytes long")
    manifest = archive.read(MANIFEST)
    if _sha256(manifest).encode() != archive.comment:
        raise _refusal(form, f"its {MANIFEST} is damaged")
    described, content = _decode(form, manifest)
    if set(found) - {MANIFEST} != set(described) or not form.required <= set(found):
        raise _refusal(form, f"it holds {_listed(found)}, and its manifest says {_listed(described)}")
    members = {}
    for name, member in described.items():
        members[name] = archive.read(name)
        if len(members[name]) != member.size or _sha256(members[name]) != member.sha256:
            raise _refusal(form, f"{name} is damaged: it is not what the manifest says")
    return content, members


def _members_of(form: FileFormat[Any], archive: zipfile.ZipFile, most: int) -> dict[str, zipfile.ZipInfo]:
    """Return the archive's members by name; being uncompressed, none is larger than the file."""
    known = {MANIFEST, *form.required, *form.optional}
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if info.filename not in known:
            raise _refusal(form, f"it holds {info.filename[:80]!r}, which is no part of such a file")
        if info.filename in found:
            raise _refusal(form, f"it holds {info.filename} twice")
        stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        if not stored or info.flag_bits & 1 or info.file_size > most:
            raise _refusal(form, f"{info.filename} is not stored as it is")
        found[info.filename] = info
    return found


def _decode(form: FileFormat[Content], manifest: bytes) -> tuple[dict[str, Member], Content]:
    try:
        head = msgspec.json.decode(manifest, type=_Head)
        if head.form != form.name:
            raise DataError(
                f"this is no {form.name}",
                because=f"it holds a {head.form[:80]!r}",
                fix=f"read it by the `load` beside the `save` that wrote it, of a {head.form[:80]}",
            )
        if head.version != form.version:
            raise DataError(
                f"this is no {form.name} of this version of the software",
                because=f"its form has the number {head.version}; this version reads number {form.version}",
                fix="make it again with this version, or read it with the one that made it",
            )
        body = msgspec.json.decode(manifest, type=_Body)
        return body.members, msgspec.json.decode(body.content, type=form.content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _refusal(form, f"its manifest does not say what it should: {error}") from None
    except InternalError as fault:  # of a type that validates itself
        raise _refusal(form, f"its manifest does not say what it should: {fault.what}") from None


def _refusal(form: FileFormat[Any], because: str) -> DataError:
    return DataError(f"this is no {form.name}, or it is damaged", because=because, fix="make the file again")


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(set(names) - {MANIFEST})) or "nothing"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
