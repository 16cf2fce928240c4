"""Run tests on a mutant, in a process of its own that reads the changed text in the file's place.

The processes are forked from one that has imported the packages that the compiler and its tests use: importing those
takes most of the time of small tests.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from types import CodeType

import pytest
from coverage import Coverage, CoverageData

ROOT = Path(__file__).parents[2]
PACKAGES = ("hypothesis.internal.conjecture.providers", "islpy", "lark", "networkx", "numpy", "z3")
OPTIONS = (
    f"--rootdir={ROOT}", "--exitfirst", "-p", "no:cacheprovider", "-p", "no:xdist",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip
"""Of pytest: the packages are imported before it could rewrite their assertions."""
LINES = "lines"
"""The file of coverage.py in the folder of a run."""
LOADER_OF_TVM = ROOT / "ragged/codegen/load_tvm.py"
"""What imports TVM without torch, as a module that imports nothing of the repository."""


@dataclass(frozen=True, slots=True)
class Run:
    """Tests, as paths from the root of the repository; a file of it, and the text that is read in its place.

    `timeout` is in seconds: tests that take longer fail. `measured` says that the lines that are run are wanted.
    """

    tests: tuple[str, ...]
    timeout: float
    file: Path | None = None
    text: str = ""
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the tests of a run passed, and after how many seconds; the lines of `ragged` that were run.

    A module that cannot be imported and tests that end the process are tests that fail.
    """

    run: Run
    passed: bool
    seconds: float
    lines: dict[Path, frozenset[int]]


def outcomes(runs: Sequence[Run], jobs: int) -> Iterator[Outcome]:
    """Yield the outcomes of runs as they end, of which `jobs` are in progress at a time."""
    _import_packages()
    waiting, context = list(reversed(runs)), get_context("fork")
    running = []
    while waiting or running:
        while waiting and len(running) < jobs:
            run, folder = waiting.pop(), tempfile.mkdtemp(prefix="mutant-")
            process = context.Process(target=_run, args=(run, folder))
            process.start()
            running.append((process, run, folder, monotonic()))
        wait([process.sentinel for process, *_ in running], timeout=1)
        for each in list(running):
            process, run, folder, start = each
            seconds = monotonic() - start
            if process.is_alive() and seconds < run.timeout:
                continue
            running.remove(each)
            process.kill()
            process.join()
            lines = _lines(folder) if run.measured else {}
            shutil.rmtree(folder, ignore_errors=True)
            yield Outcome(run, process.exitcode == 0, seconds, lines)


def _import_packages() -> None:
    for name in PACKAGES:
        importlib.import_module(name)
    spec = spec_from_file_location("load_tvm", LOADER_OF_TVM)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(module_from_spec(spec))


def _run(run: Run, folder: str) -> None:
    """Run tests in this process, with its temporary files in a folder, and exit as pytest does."""
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    if run.file is not None:
        sys.meta_path.insert(0, _Finder(run.file, run.text))  # type: ignore[arg-type]  # find_spec is all that is asked
    coverage = Coverage(data_file=f"{folder}/{LINES}", include=f"{ROOT}/ragged/*", config_file=False)
    with coverage.collect() if run.measured else nullcontext():
        code = pytest.main([*OPTIONS, *(str(ROOT / test) for test in run.tests)])
    if run.measured:
        coverage.save()
    sys.exit(code)


def _lines(folder: str) -> dict[Path, frozenset[int]]:
    """Return the lines of each file that were run, as a process has left them in its folder."""
    data = CoverageData(basename=f"{folder}/{LINES}")
    data.read()
    return {Path(file): frozenset(data.lines(file) or ()) for file in data.measured_files()}


def module_of(path: Path) -> str:
    """Return the name of a file's module; of a package's `__init__.py`, that of the package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


class _Finder:
    """Finds the module of one file, which has another text."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self.text = file, text
        self.module = module_of(file)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        return spec_from_file_location(name, self.file, loader=_Loader(name, str(self.file), self.text))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec", dont_inherit=True)
