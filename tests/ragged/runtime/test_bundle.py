"""Files of several members: what was written comes back, and nothing else is taken for it."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import zipfile
from dataclasses import dataclass

import pytest

from ragged.errors import DataError
from ragged.runtime.bundle import MANIFEST, FileFormat, read_bundle, write_bundle


@dataclass(frozen=True, slots=True)
class Content:
    number: int
    words: tuple[str, ...]


FORM = FileFormat("test file", 3, Content, frozenset(("code",)), frozenset(("more",)))
CONTENT = Content(7, ("a", "b"))
CODE = bytes(range(256)) * 4
WHOLE = write_bundle(FORM, CONTENT, {"code": CODE})


def refused(data: bytes) -> str:
    with pytest.raises(DataError) as caught:
        read_bundle(FORM, data)
    assert caught.value.__cause__ is None
    return str(caught.value)


def because(data: bytes) -> str:
    what, reason, fix = refused(data).splitlines()
    assert what == "this is no test file, or it is damaged" and fix == "  fix: make the file again"
    return reason.removeprefix("  because: ")


def packed(members: dict[str, bytes], comment: bytes | None = None, **options) -> bytes:
    """Return an archive of any members; its comment is the manifest's hash, unless another is given."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        archive.comment = hashlib.sha256(members.get(MANIFEST, b"")).hexdigest().encode()
        if comment is not None:
            archive.comment = comment
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def described(name: str = "code", data: bytes = CODE) -> dict[str, object]:
    return {name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}}


def manifest(**changes) -> bytes:
    whole = {"form": "test file", "version": 3, "members": described(), "content": {"number": 7, "words": []}}
    return json.dumps(whole | changes).encode()


def test_what_was_written_comes_back():
    assert read_bundle(FORM, WHOLE) == (CONTENT, {"code": CODE})
    members = {"code": b"", "more": CODE}
    assert read_bundle(FORM, write_bundle(FORM, CONTENT, members)) == (CONTENT, members)
    assert write_bundle(FORM, CONTENT, {"code": CODE}) == WHOLE, "the same bytes at any time"
    assert read_bundle(FORM, packed({MANIFEST: manifest(), "code": CODE}))[0] == Content(7, ())


def test_no_archive_at_all():
    assert because(b"PK\x03\x04" + bytes(100)).startswith("it is no archive that can be read: ")
    assert "it is empty\n  fix: stream.seek(0), where" in refused(b"")


def test_wherever_it_is_damaged():
    """Flipping a bit anywhere is found, or changes nothing that is used; cutting it off anywhere is found."""
    for at in range(len(WHOLE)):
        damaged = bytearray(WHOLE)
        damaged[at] ^= 0x10
        try:
            assert read_bundle(FORM, bytes(damaged)) == (CONTENT, {"code": CODE})
        except DataError:
            continue
    for size in range(0, len(WHOLE), 3):
        refused(WHOLE[:size])


def test_members_that_are_not_what_the_manifest_says():
    changed = bytes([1, *CODE[1:]])
    assert because(packed({MANIFEST: manifest(), "code": changed})) == (
        "code is damaged: it is not what the manifest says"
    )
    shorter = manifest(members={"code": described()["code"] | {"size": 3}})
    assert because(packed({MANIFEST: shorter, "code": CODE})).startswith("code is damaged")
    assert because(packed({MANIFEST: manifest()})) == "it holds nothing, and its manifest says code"
    assert because(packed({"code": CODE})) == "it has no manifest.json"
    both = {MANIFEST: manifest(), "code": CODE, "more": b""}
    assert because(packed(both)) == "it holds code, more, and its manifest says code"
    more = manifest(members=described("more"))
    assert because(packed({MANIFEST: more, "more": CODE})) == "it holds more, and its manifest says more"


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x", "/etc/passwd", "CODE", "code/", "code\\x", "mänifest"]
)
def test_names_that_such_a_file_does_not_have(name):
    data = packed({MANIFEST: manifest(), "code": CODE, name: b"x"})
    assert because(data) == f"it holds {name!r}, which is no part of such a file"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_twice():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for data in (CODE, b"other"):
            archive.writestr("code", data)
    assert because(file.getvalue()) == "it holds code twice"


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_nothing_is_unpacked(method):
    bomb = packed({MANIFEST: manifest(), "code": bytes(10_000_000)}, compression=method)
    assert because(bomb) == "manifest.json is not stored as it is"


def test_a_member_that_claims_more_than_the_file_holds():
    at = WHOLE.rindex(b"PK\x01\x02")  # the record of the last member
    claimed = bytearray(WHOLE)
    claimed[at + 20 : at + 28] = (2**31).to_bytes(4, "little") * 2
    assert because(bytes(claimed)) == "code is not stored as it is"


def test_a_damaged_manifest():
    assert (
        because(packed({MANIFEST: manifest(), "code": CODE}, comment=b"")) == "its manifest.json is damaged"
    )


def test_another_form_and_another_version():
    other = packed({MANIFEST: manifest(form="recipe"), "code": CODE})
    assert refused(other) == (
        "this is no test file\n"
        "  because: it holds a 'recipe'\n"
        "  fix: read it by the `load` beside the `save` that wrote it, of a recipe"
    )
    newer = packed({MANIFEST: manifest(version=4, content=None, members=[]), "code": CODE})
    assert refused(newer) == (
        "this is no test file of this version of the software\n"
        "  because: its form has the number 4; this version reads number 3\n"
        "  fix: make it again with this version, or read it with the one that made it"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "Input data was truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b"[" * 100_000, ""),
        (b"\xff\xfe", ""),
        (manifest(version="3"), "Expected `int`, got `str` - at `$.version`"),
        (
            manifest(members={"code": {"size": -1}}),
            "Object missing required field `sha256` - at `$.members[...]`",
        ),
        (manifest(members={"code": 5}), "Expected `object`, got `int` - at `$.members[...]`"),
        (manifest(content={"number": 7}), "Object missing required field `words`"),
        (manifest(content={"number": 7.5, "words": []}), "Expected `int`, got `float` - at `$.number`"),
        (manifest(content={"number": 7, "words": [None]}), "Expected `str`, got `null` - at `$.words[0]`"),
    ],
)
def test_a_manifest_of_something_else(text, why):
    reason = because(packed({MANIFEST: text, "code": CODE}))
    assert reason.startswith("its manifest does not say what it should: ") and why in reason


def test_a_manifest_without_end(monkeypatch):
    monkeypatch.setattr("ragged.runtime.bundle._MOST_MANIFEST", 10)
    assert because(WHOLE) == f"its manifest.json is {len(read_member(MANIFEST)):,} bytes long"


def read_member(name: str) -> bytes:
    with contextlib.closing(zipfile.ZipFile(io.BytesIO(WHOLE))) as archive:
        return archive.read(name)
