"""The fuzzer of readers finds planted faults, and its readers read what they are given."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.fuzz_readers import planted
from tests.fuzz_readers.readers import ROOT, readers

FAULTS = {
    "foreign": "UnicodeDecodeError: 'ascii' codec",
    "crash": "libFuzzer: deadly signal",
    "endless": "in _endless",
    "large": "MemoryError",
    "nested": "IndexError: nested",
}
with_atheris = pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not built for this Python")


def run(*arguments):
    """Return the exit status of a command of Python, and what it prints."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def fuzz(folder, minutes, *names):
    """Return the exit status of the fuzzer over planted readers, and what it prints."""
    chosen = [argument for name in names for argument in ("--reader", name)]
    options = ["--minutes", minutes, "--jobs", 2, "--case-seconds", 1, "--findings", folder]
    return run("-m", "tests.fuzz_readers", "--module", planted.__name__, *options, *chosen)


@with_atheris
def test_planted_faults_are_found_and_repeated(tmp_path):
    """Only coverage leads to the fault in `nested`; a reader that fails ends before its half a minute is over."""
    status, text = fuzz(tmp_path, len(FAULTS) / 2, *FAULTS)
    assert status == 1
    assert text.endswith(f"{len(FAULTS)} failures\n")
    for name, fault in FAULTS.items():
        part = text[text.index(f"{name}: exit status") :]
        assert fault in part[: part.index("again: ")]
        assert re.search(rf"^{name} +[\d,]+ +\d+ +\d+ +failed", text, re.MULTILINE)
        _, *again = shlex.split(re.search(r"again: (.*)", part).group(1))
        status, repeated = run(*again, "--case-seconds", 1)
        assert status != 0
        assert fault in repeated


@with_atheris
def test_a_refusal_is_fine(tmp_path):
    status, text = fuzz(tmp_path, 0.01, "refusing")
    assert status == 0, text
    assert re.search(r"^refusing +[\d,]{5,} +\d+ +\d+ +fine", text, re.MULTILINE)
    assert not list(tmp_path.iterdir())


@with_atheris
def test_a_file_needs_its_reader():
    status, text = run("-m", "tests.fuzz_readers", "--module", planted.__name__, "pyproject.toml")
    assert status == 2
    assert "a file is read by one reader: name it with --reader" in text


def test_seeds_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for each in readers().values():
        for data in each.seeds:
            each.read(data)
