"""The machine as `cortex doctor` sees it: interpreter, processor, and what some uses need beside."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

from cortex.cli.finding import Finding
from ragged.codegen.cuda.nvcc import find_nvcc

_CPUINFO = Path("/proc/cpuinfo")
_OLDEST = (3, 11)
_QUICKEST = (3, 11)
"""The version with object layouts that the native linearizer knows."""
# The widest vectors of a processor, by what /proc/cpuinfo says it can, in bits.
_VECTORS = (("avx512f", 512), ("avx2", 256), ("avx", 256), ("sse2", 128), ("asimd", 128))
_NARROW = 128


def python() -> Finding:
    """Find the interpreter and the system."""
    usable = sys.version_info >= _OLDEST and sys.platform == "linux"
    todo = "" if usable else f"Python {'.'.join(map(str, _OLDEST))} or newer, on Linux"
    if usable and sys.version_info[:2] > _QUICKEST:
        todo = (
            "nothing, but trees of Python objects are read slower than by Python 3.11; a cortex.Forest is not"
        )
    return Finding(
        "python", usable, f"{platform.python_version()} on {platform.system()} {platform.machine()}", todo
    )


def processor() -> Finding:
    """Find the processor's model, its vectors and the cores that this process may use."""
    fields = _fields(_CPUINFO.read_text(encoding="utf-8", errors="replace") if _CPUINFO.exists() else "")
    flags = fields.get("flags", fields.get("Features", "")).split()
    width = next((bits for flag, bits in _VECTORS if flag in flags), 0)
    model = fields.get("model name", platform.machine())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    vectors = f"vectors of {width} bits" if width else "vectors unknown"
    return Finding(
        "processor",
        True,
        f"{model}, {vectors}, {cores} {'core' if cores == 1 else 'cores'}",
        "" if width > _NARROW else "nothing, but kernels are slower than with AVX2 or AVX-512",
        required=False,
    )


def extras() -> list[Finding]:
    """Find what only some uses need: nvcc and torch."""
    nvcc = find_nvcc()
    torch = _version("torch")
    return [
        Finding(
            "nvcc",
            nvcc is not None,
            nvcc or "not on the PATH, nor under CUDA_HOME, nor a Python package",
            "" if nvcc else "for target='cuda' only: pip install nvidia-cuda-nvcc",
            required=False,
        ),
        Finding(
            "torch",
            torch is not None,
            torch or "not installed",
            "" if torch else "for weights that come as torch tensors: pip install torch",
            required=False,
        ),
    ]


def _fields(text: str) -> dict[str, str]:
    """Return what /proc/cpuinfo says of the first processor."""
    pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
