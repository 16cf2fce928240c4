"""Records of points that were timed: a file of JSON lines that is appended to, and merged by concatenation."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from ragged.auto.options import ScheduleOptions
from ragged.auto.shapes import Shape
from ragged.errors import DataError, UserError
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.runtime import processor

_SCHEMA = 1
_CUT_OFF = "Input data was truncated"
"""What msgspec says of the beginning of a line of JSON."""
O = TypeVar("O", bound=ScheduleOptions)  # noqa: E741


class RecordKey(msgspec.Struct, frozen=True):
    """Times are comparable for equal keys: hashes of the program's text and the processor's identity, threads, shapes.

    Shapes are sizes by name with their weights, as text; of calls that are given as arrays a hash of their shapes.
    """

    program: str
    processor: str
    threads: int
    shapes: str


class Record(msgspec.Struct, frozen=True):
    """A point: options that are not the default, and its time over the default's; None if it was refused, `because`.

    `kernel_us` are microseconds of all shapes together.
    """

    key: RecordKey
    options: dict[str, Any]
    relative: Annotated[float, msgspec.Meta(gt=0)] | None
    kernel_us: float | None = None
    because: str | None = None
    schema: int = _SCHEMA

    @property
    def cost(self) -> float:
        """The time over the default's; infinite if the point was refused."""
        return math.inf if self.relative is None else self.relative


def key_for(
    programs: Iterable[Program], threads: int, shapes: Iterable[Shape] | str, options: Iterable[str] = ()
) -> RecordKey:
    """Return the key of programs, their threads, the shapes that are timed, and texts of the options they have."""
    text = shapes if isinstance(shapes, str) else "; ".join(map(_shape_text, shapes))
    return key_of_text("\n".join([*map(to_text, programs), *options]), threads, text)


def key_of_text(program: str, threads: int, shapes: str) -> RecordKey:
    """Return the key of what has this text, on this machine."""
    return RecordKey(digest(program), digest(processor.identity()), threads, shapes)


def options_from(changed: dict[str, Any], kind: type[O]) -> O:
    """Return the options of a record, of class `kind`; lists of JSON are tuples.

    Raises:
        TypeError, UserError: they are not known, or not legal.
    """
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in changed.items()
    }
    return kind(**given)


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Return the records of a file, oldest first; none without a file.

    A line that was cut off, as by the end of the process that wrote it, is left out.

    Raises:
        DataError: another line is no record.
    """
    if not Path(path).exists():
        return []
    found = []
    for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(msgspec.json.decode(line, type=Record))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if str(error) == _CUT_OFF:
                continue
            raise DataError(f"{path}: line {number} is no tuning record", because=str(error)) from error
    return found


def append_record(path: Path, record: Record) -> None:
    """Append a record in one write, after a line that was cut off if there is one."""
    data = msgspec.json.encode(record) + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+") as file:
        if file.tell() and _last_byte(path) != b"\n":
            data = b"\n" + data
        file.write(data)


def merge_records(records: Iterable[Record]) -> list[Record]:
    """Return the last record of each point of each key, in the order of first occurrence."""
    found: dict[tuple[RecordKey, bytes], Record] = {}
    for each in records:
        found[each.key, msgspec.json.encode(each.options, order="sorted")] = each
    return list(found.values())


def records_of(path: Path, key: RecordKey, kind: type[O]) -> Iterator[tuple[O, Record]]:
    """Yield the options, of class `kind`, and records of a key; records with unknown options are left out."""
    for record in merge_records(read_records(path)):
        if record.key == key:
            try:
                yield options_from(record.options, kind), record
            except (TypeError, UserError):
                continue


def _last_byte(path: Path) -> bytes:
    with open(path, "rb") as file:
        file.seek(-1, 2)
        return file.read(1)


def _shape_text(shape: Shape) -> str:
    sizes = ", ".join(f"{name}={value}" for name, value in shape.sizes)
    return f"{sizes} x {shape.weight:g}"


def digest(text: str) -> str:
    """Return a hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
