"""Compiles the C++ of this folder against the oneDNN that is installed from its packages."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

_HERE = Path(__file__).parent
_BUILT = _HERE.parents[2] / "build" / "peers"
_PACKAGE, _HEADERS = "onednn-cpu-gomp", "onednn-devel-cpu-gomp"
_FLAGS = (
    "-std=c++20 -O3 -march=native -mprefer-vector-width=512 -fno-math-errno -fno-trapping-math"
    " -fopenmp -Wall -Wextra -Werror -shared -fPIC"
)


def library() -> ctypes.CDLL:
    """Return the library, compiled anew where its source, the compiler's command or oneDNN is another.

    Raises `ImportError` if oneDNN's packages are not installed, `CalledProcessError` if the compiler fails.
    """
    onednn = _installed(_PACKAGE, "libdnnl.so.3")
    headers = _installed(_HEADERS, "dnnl.h").parent
    compiler = [*shlex.split(os.environ.get("CXX", "c++")), *_FLAGS.split()]
    sources = sorted(path for path in _HERE.iterdir() if path.suffix in {".cpp", ".hpp"})
    of = "\n".join([*compiler, str(onednn), metadata.version(_PACKAGE), *map(_text, sources)])
    path = _BUILT / f"peer-{hashlib.sha256(of.encode()).hexdigest()[:16]}.so"
    if not path.exists():
        _BUILT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_BUILT) as folder:
            made = Path(folder) / path.name
            files = [str(source) for source in sources if source.suffix == ".cpp"]
            linked = [str(onednn), f"-Wl,-rpath,{onednn.parent}"]
            subprocess.run([*compiler, f"-I{headers}", *files, *linked, "-o", str(made)], check=True)
            made.replace(path)  # whoever compiles at the same time makes the same file
    return ctypes.CDLL(str(path))


def _installed(package: str, name: str) -> Path:
    """Return where a package has put a file."""
    try:
        files = metadata.files(package) or ()
    except metadata.PackageNotFoundError as error:
        raise ImportError(f"{package} is not installed") from error
    for file in files:
        if file.name == name and "oneapi" not in file.parts:
            return Path(str(file.locate())).resolve()
    raise ImportError(f"the package {package} has no {name}")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
