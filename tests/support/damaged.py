"""Damaged artifacts: refused with a message, and no code of theirs run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragged.errors import DataError, UserError
from ragged.runtime.bundle import FileFormat, read_bundle


def refusal(load: Callable[[Path], object], path: Path, kind: type[UserError] = DataError) -> str:
    """Return the message with which a file is refused."""
    with pytest.raises(kind) as caught:
        load(path)
    return str(caught.value)


def check_damaged(
    load: Callable[[Path], object], path: Path, form: FileFormat[Any], *, cut: int, flip: int
) -> None:
    """Check a file cut off every `cut` bytes, and with a bit changed every `flip`; to be used with `nothing_runs`."""
    whole = path.read_bytes()
    for size in range(0, len(whole), cut):
        path.write_bytes(whole[:size])
        message = refusal(load, path)
        assert message.startswith(f"load: {path}: this is no {form.name}, or it is damaged\n")
    for at in range(70, len(whole) - 300, flip):
        damaged = bytearray(whole)
        damaged[at] ^= 1
        path.write_bytes(damaged)
        try:
            refusal(load, path)
        except pytest.fail.Exception:  # a bit of an archive's header that is not read
            assert read_bundle(form, bytes(damaged)) == read_bundle(form, whole)
