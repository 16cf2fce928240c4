"""Which Python the Makefile takes: one that is new enough, and no free-threaded build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "find_python.sh"


def found(
    folder: Path, *options: str, **pythons: tuple[tuple[int, int], str]
) -> subprocess.CompletedProcess[str]:
    """Run the script where these are the Pythons, each with a version and the flags of its ABI."""
    for name, (version, flags) in pythons.items():
        path = folder / name.replace("_", ".")
        said = (
            "import sys, sysconfig; path = sysconfig.get_path('include'); sysconfig.get_path = lambda _: path"
        )
        said += f"; sys.version_info, sys.abiflags = {version}, '{flags}'"
        path.write_text(
            f'#!/bin/sh\nexec {sys.executable} -c "{said}; exec(sys.argv[1])" "$2"\n', encoding="utf-8"
        )
        path.chmod(0o755)
    environment = {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    command = ["bash", str(SCRIPT), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("flags", ["", "t"])
def test_a_newer_one(tmp_path, flags):
    done = found(
        tmp_path, "--newer", python3=((3, 11), ""), python3_13=((3, 13), flags), python3_12=((3, 12), "")
    )
    assert done.stdout.strip() == str(tmp_path / ("python3.12" if flags else "python3.13")), done.stderr


def test_none_that_is_newer(tmp_path):
    done = found(
        tmp_path, "--newer", python3=((3, 11), ""), python3_13=((3, 11), ""), python3_12=((3, 12), "t")
    )
    assert done.returncode == 1 and "Python 3.12 or newer" in done.stderr
