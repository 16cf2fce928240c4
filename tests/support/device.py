"""A stand-in for a GPU's driver: the kernel's source compiled for the host, where threads run it. See device.cpp."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from ragged.runtime.cuda.driver import Driver

TEXT = Path(__file__).with_suffix(".cpp")
WAITING = "- goal) < 0) {\n"
"""A thread that waits here holds a processor of the host's that others may need."""
COMPILER = ("g++", "-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-pthread", "-w")
SHARED = "extern __shared__ __align__(16) unsigned char ragged_shared[];\n"


def standin(source: str, name: str, folder: Path) -> tuple[Driver, ctypes.CDLL]:
    """Return a driver, of a device that runs the kernel `name` of `source`, whatever code it gets; and its library."""
    assert source.count(SHARED) == 1
    kernel, library = folder / "kernel.h", folder / "libdevice.so"
    assert source.count(WAITING) == 1
    text = source.replace(SHARED, "").replace(WAITING, WAITING + "      std::this_thread::yield();\n")
    kernel.write_text(text, encoding="utf-8")
    call = f"{name}({', '.join(arguments(source, name))})"
    defined = {"KERNEL_SOURCE": f'"{kernel}"', "KERNEL_NAME": f'"{name}"', "KERNEL_CALL": call}
    macros = [f"-D{macro}={text}" for macro, text in defined.items()]
    compile_cpp("-include", headers(), *macros, "-o", library, TEXT)
    loaded = ctypes.CDLL(str(library))
    return Driver(loaded), loaded


def headers() -> Path:
    """Return the headers of the standard library that the device includes, compiled once for all tests of a run."""
    cache = Path(os.environ["CORTEX_TESTS_CACHE"])
    folder = cache / "device-headers"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=cache, ignore_cleanup_errors=True) as own:
            header = Path(own, "headers.h")
            lines = TEXT.read_text(encoding="utf-8").splitlines()
            header.write_text("\n".join(line for line in lines if line.startswith("#include <")) + "\n")
            compile_cpp("-x", "c++-header", "-o", f"{header}.gch", header)
            with suppress(OSError):  # another process was first
                Path(own).rename(folder)
    return folder / "headers.h"


def compile_cpp(*arguments: str | Path) -> None:
    subprocess.run([*COMPILER, *map(str, arguments)], check=True, capture_output=True, text=True)


def arguments(source: str, name: str) -> list[str]:
    """Return the kernel's arguments as they are read from what a launch gets: the addresses of all of them."""
    found = re.search(rf" {name}\((.*?)\) \{{", source, re.DOTALL)
    assert found is not None
    types = [
        re.sub(r"\w+$", "", each.replace("__restrict__", "").strip()).strip() for each in found[1].split(",")
    ]
    plain = (each if each.endswith("*") else each.removeprefix("const ") for each in types)
    return [f"*reinterpret_cast<{each} const*>(params[{k}])" for k, each in enumerate(plain)]
