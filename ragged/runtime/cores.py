"""The number of processors that this process may use: its affinity, limited by the quotas of its control groups.

A container sees all processors of a machine, but a process that uses more than its quota is stopped for the rest of
each period.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Return the number of processors that this thread may use, 1 or more."""
    allowed = len(os.sched_getaffinity(0))
    try:
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    except OSError:
        return allowed
    share = quota(groups, _CGROUPS)
    return allowed if share is None else min(allowed, ceil(share))


def quota(groups: str, root: Path) -> float | None:
    """Return the quota of a process in processors, or None for no limit: the least of its groups and their ancestors.

    `groups` is the text of /proc/self/cgroup, `root` the folder of the groups.
    """
    found = [share for line in groups.splitlines() for share in _shares(line, root)]
    return min(found, default=None)


def _shares(line: str, root: Path) -> Iterator[float]:
    """Yield the quotas of one line of /proc/self/cgroup, in processors."""
    _, _, rest = line.partition(":")
    controllers, _, path = rest.partition(":")
    if controllers == "":
        for folder in _folders(root, path):
            limit, _, period = _read(folder / "cpu.max").partition(" ")
            yield from _share(limit, period)
    elif "cpu" in controllers.split(","):
        for folder in _folders(root / controllers, path):
            yield from _share(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _folders(root: Path, path: str) -> Iterator[Path]:
    """Yield a group's folder and its ancestors' up to `root`: containers do not see all."""
    inner = Path(os.path.normpath(root / path.strip().lstrip("/")))
    yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(root))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _share(limit: str, period: str) -> Iterator[float]:
    if limit.isdigit() and period.isdigit() and int(limit) and int(period):  # else "max", or -1: no limit
        yield int(limit) / int(period)
