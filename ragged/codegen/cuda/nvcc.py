"""NVIDIA's compiler, wherever this machine has it: from CUDA C++ to code for one architecture, without a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from ragged.errors import UserError

_SECONDS = 300
_OPTIONS = ("-std=c++17", "-fmad=false", "-O3", "-diag-suppress=177,550")
"""Only the program fuses multiplications with additions; no warnings about unused variables."""


def find_nvcc() -> str | None:
    """Return nvcc's path: of the PATH, of the toolkit that `CUDA_HOME` says, or of NVIDIA's Python packages.

    The toolkit is /usr/local/cuda by default; `pip install nvidia-cuda-nvcc` brings the packages.
    """
    home = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    folders = (Path(home) / "bin", *installed())
    return shutil.which("nvcc") or next(
        (path for folder in folders if (path := shutil.which("nvcc", path=str(folder)))), None
    )


def installed() -> tuple[Path, ...]:
    """Return where NVIDIA's Python packages have programs, the latest version of CUDA first."""
    found = find_spec("nvidia")
    places = () if found is None else tuple(found.submodule_search_locations or ())
    return tuple(sorted((each for place in places for each in Path(place).glob("cu*/bin")), reverse=True))


def cubin(source: str, architecture: str) -> bytes:
    """Return the code of a source for an architecture, as the driver loads it.

    Raises:
        UserError: there is no nvcc, or it refuses: it may not know the architecture.
    """
    return _made(source, architecture, "-cubin")


def ptx(source: str, architecture: str) -> str:
    """Return the code of a source in the assembly language of GPUs, before it is one's own; raises as `cubin`."""
    return _made(source, architecture, "-ptx").decode()


def _made(source: str, architecture: str, form: str) -> bytes:
    nvcc = find_nvcc()
    if nvcc is None:
        raise UserError(
            "compile: no CUDA compiler is here",
            because="nvcc is neither on the PATH, nor under CUDA_HOME, nor installed as a Python package",
            fix="pip install nvidia-cuda-nvcc, which needs no GPU, or compile for this machine: target='cpu'",
        )
    with tempfile.TemporaryDirectory() as folder:
        text, result = Path(folder) / "kernel.cu", Path(folder) / "kernel.out"
        text.write_text(source, encoding="utf-8")
        command = [nvcc, form, f"-arch={architecture}", *_OPTIONS, "-o", str(result), str(text)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_SECONDS)
        if done.returncode or not result.is_file():
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise UserError(
                f"compile: nvcc does not compile the kernel for '{architecture}'",
                because="; ".join(lines[:3]) or f"it ends with {done.returncode}",
                fix="an architecture that `nvcc --list-gpu-code` names",
            )
        return result.read_bytes()
