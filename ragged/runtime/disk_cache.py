"""An untrusted cache on disk: entries by key, each checked when it is read.

Any fault of the folder or of an entry (no space, no permission, damage, another owner) is the same as no entry. Any
number of processes may use one folder: an entry is written under a temporary name, renamed, and never changed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX, _UNFINISHED = ".entry", ".new"
_DIGEST = 32
"""Bytes of the SHA-256 that an entry's file starts with."""
_STALE_SECONDS = 3600.0
"""An older unfinished file was left by a process that has ended."""
_PROCESSES = 8
"""So many processes may fill a folder at once, and none of them fills what is free beyond the limit."""
_free: dict[tuple[Path, int], int] = {}
"""Bytes that this process may write to a folder of a limit before it looks at all entries again."""
_FILE = os.O_CLOEXEC | os.O_NOFOLLOW
"""Entries are no links; the folder may be one, and its target is checked."""


class DiskCache:
    """Entries in `folder`, at most `limit` bytes; the least recently used ones are evicted.

    The folder is created with the first entry. A folder of another user, or one that others may write, is not used.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit

    def get(self, key: str) -> bytes | None:
        """Return the data of `key`, or None. A key consists of letters and digits."""
        with suppress(OSError), self._opened() as folder:
            entry = os.open(key + _SUFFIX, os.O_RDONLY | _FILE | os.O_NONBLOCK, dir_fd=folder)
            with open(entry, "rb") as file:
                if not _is_ours(os.fstat(entry), stat.S_ISREG):
                    return None
                data = file.read()
                if hashlib.sha256(key.encode() + data[_DIGEST:]).digest() != data[:_DIGEST]:
                    return None
                with suppress(OSError):  # a read-only folder keeps no order of use
                    os.utime(entry)
                return data[_DIGEST:]
        return None

    def put(self, key: str, data: bytes) -> OSError | None:
        """Store `data` under `key`, if possible; return why it is not."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._opened() as folder:
                _write(folder, key, hashlib.sha256(key.encode() + data).digest() + data)
                place = self.folder, self.limit
                free = _free.get(place, 0) - _DIGEST - len(data)
                _free[place] = free if free >= 0 else (self.limit - self._evict(folder)) // _PROCESSES
        except OSError as error:
            return error
        return None

    def used(self) -> tuple[int, int]:
        """Return the number of entries and their bytes. Raises `OSError` for a folder that must not be used."""
        with self._opened() as folder:
            names = [name for name in os.listdir(folder) if name.endswith(_SUFFIX)]
            return len(names), sum(
                os.stat(name, dir_fd=folder, follow_symlinks=False).st_size for name in names
            )

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the folder, as the base of all file operations. Raises `OSError` for one that must not be used."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not _is_ours(os.fstat(folder), stat.S_ISDIR):
                raise PermissionError(f"{self.folder} is not this user's alone")
            yield folder
        finally:
            os.close(folder)

    def _evict(self, folder: int) -> int:
        """Remove unfinished files, and the least recently used entries beyond the limit; return how many bytes stay."""
        found = []
        for name in os.listdir(folder):
            with suppress(OSError):  # another process may have removed it
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if name.endswith(_SUFFIX):
                    found.append((status.st_mtime_ns, status.st_size, name))
                elif name.endswith(_UNFINISHED) and status.st_mtime < time.time() - _STALE_SECONDS:
                    os.unlink(name, dir_fd=folder)
        used = sum(size for _, size, _ in found)
        for _, size, name in sorted(found):
            if used <= self.limit:
                break
            used -= size
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
        return used


def _write(folder: int, key: str, data: bytes) -> None:
    """Write an entry under a temporary name, then rename it: others see all of it or nothing."""
    unfinished = f"{secrets.token_hex(16)}{_UNFINISHED}"
    entry = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=folder)
    try:
        with open(entry, "wb") as file:
            file.write(data)
        os.replace(unfinished, key + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished, dir_fd=folder)
        raise


def _is_ours(status: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Return whether a file is of a kind, belongs to this user, and is writable by this user alone."""
    return is_kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
