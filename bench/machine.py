"""What every result says of where it was measured."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from time import time_ns

_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a run was made; `load` is that of its end."""

    processor: str
    system: str
    cores: int
    load: float


def about(packages: Iterable[str] = ()) -> dict[str, object]:
    """Return when and on what machine this is, with the versions of Python and of these packages."""
    return {
        "at": time_ns() // 10**9,
        "machine": {
            "processor": _processor(),
            "system": f"{platform.system()} {platform.machine()}",
            "cores": len(os.sched_getaffinity(0)),
            "load": os.getloadavg()[0],
        },
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in sorted({"numpy", *packages})},
        },
    }


def document_of(schema: int, result: Mapping[str, object], packages: Iterable[str]) -> dict[str, object]:
    """Return the fields of a run as JSON has them, with its command, machine and versions."""
    script = Path(sys.argv[0])
    name = script.parent.name if script.stem == "__main__" else script.name
    return {"schema": schema, "command": [name, *sys.argv[1:]], **about(packages), **result}


def date_of(at: int) -> str:
    """Return the day of a result, so many seconds after 1970, as people write it."""
    return datetime.fromtimestamp(at, UTC).strftime("%d %B %Y")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"  # as this project where it runs from its sources


def _processor() -> str:
    """Return the processor's name, with family and model: one name may stand for several."""
    try:
        text = _CPUINFO.read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    fields = {name.strip(): value.strip() for name, _, value in pairs}
    name = fields.get("model name", platform.machine())
    return f"{name}, family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"
