"""Reads UTF-8 files."""

from __future__ import annotations

import io
import os
from pathlib import Path

from ragged.errors import DataError


def read_utf8(path: str | os.PathLike[str], origin: str) -> str:
    r"""Return a file's text with line ends as "\n"; `DataError`, which begins with `origin`, if it is not UTF-8."""
    data = Path(path).read_bytes()
    try:
        return io.StringIO(data.decode("utf-8"), newline=None).read()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{origin} is not UTF-8 text",
            because=f"byte {error.start} is {data[error.start]:#04x}",
            fix="convert it: iconv -t utf-8",
        ) from None
