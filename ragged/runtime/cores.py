"""How many processors this process may use: by its affinity, and by the quota of the control groups it is in.

A container is mostly given a share of a large machine by quota: it sees all processors, and whoever takes more of
them than that is stopped for the rest of each period, spinning workers first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Return how many processors this thread may use at once, 1 or more."""
    allowed = len(os.sched_getaffinity(0))
    try:
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    except OSError:
        return allowed
    share = quota(groups, _CGROUPS)
    return allowed if share is None else min(allowed, ceil(share))


def quota(groups: str, root: Path) -> float | None:
    """Return how many processors' time the groups of a process give it, or None for any number.

    `groups` is the text of /proc/self/cgroup, `root` where the groups' files are. A group's own quota counts, and
    that of each group around it.
    """
    found = [share for line in groups.splitlines() for share in _shares(line, root)]
    return min(found, default=None)


def _shares(line: str, root: Path) -> Iterator[float]:
    """Yield the quotas that one line of /proc/self/cgroup leads to, as processors."""
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
    """Yield a group's folder and those of the groups around it, as far as `root`: containers do not see all."""
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
