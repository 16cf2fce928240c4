"""The parts of `make sanitize`: builds with sanitizers, and what runs with them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("build") / "sanitize"
NATIVE = ROOT / "ragged" / "runtime" / "native"
SOURCES = ("helper", "processors", "stage", "team", "wait")
OPTIONS = ("-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-pthread")
LONGEST = 600
"""Seconds after which a part is ended, and has failed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a part: `line` says it in short, `text` is all that it printed."""

    fine: bool
    line: str
    text: str


def compile_with(sanitizers: str, sources: Sequence[Path], program: Path) -> Path:
    """Compile C++ with sanitizers, named as -fsanitize= takes them, and return the program."""
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [
        "g++",
        *OPTIONS,
        f"-fsanitize={sanitizers}",
        f"-I{NATIVE}",
        *map(str, sources),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    return program


def team_program(sanitizers: str) -> Path:
    """Return the test of the worker team, compiled with `sanitizers`."""
    sources = [Path(__file__).parent / "team.cpp", *(NATIVE / f"{name}.cpp" for name in SOURCES)]
    return compile_with(sanitizers, sources, ROOT / FOLDER / f"team-{sanitizers.replace(',', '-')}")


def run(command: Sequence[str | Path], **variables: str) -> tuple[int, str]:
    """Run a command in the root, and return its status and all that it printed; status -1 if it did not end."""
    environment = os.environ | {"UBSAN_OPTIONS": "print_stacktrace=1"} | variables
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=LONGEST,
            cwd=ROOT,
            env=environment,
        )
    except subprocess.TimeoutExpired as late:
        return -1, f"{(late.stdout or b'').decode()}\nnot done after {LONGEST} s"
    return done.returncode, done.stdout


def planted(program: Path, fault: str, report: str) -> Outcome:
    """A program that is told to make a fault ends with a report of it."""
    status, text = run([program, fault])
    found = status != 0 and report in text
    return Outcome(found, f"{program.name}: a planted {fault} is {'found' if found else 'NOT FOUND'}", text)


def team(program: Path, *arguments: str) -> Outcome:
    """Run the test of the worker team."""
    status, text = run([program, *arguments])
    runs = re.search(r"^(\d+) runs$", text, re.MULTILINE)
    fine = status == 0 and runs is not None
    return Outcome(fine, f"{program.name}: {runs[0] if runs else 'ended early'}, status {status}", text)


def extensions(sanitizers: str) -> Path:
    """Build both extensions with `sanitizers`, or what changed of them, and return the folder."""
    folder = ROOT / FOLDER / "extensions"
    configure = ["cmake", "-S", ".", "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    options = (f"-DCORTEX_SANITIZE={sanitizers}", f"-DPython_EXECUTABLE={sys.executable}")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in ([*configure, *options], ["cmake", "--build", folder]):
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return folder


def pytest_under(folder: Path, tests: Sequence[str], left_out: Sequence[str]) -> Outcome:
    """Run tests on the extensions of `folder`, built with AddressSanitizer."""
    # libstdc++ too: the sanitizer looks for what throws exceptions when it is loaded.
    libraries = [
        subprocess.run(
            ["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    reports = folder / "report"
    for old in folder.glob("report.*"):
        old.unlink()
    status, text = run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.sanitize.plugin", "-p", "no:cacheprovider"),
            *("--numprocesses", "auto", *tests),
            *(f"--ignore-glob=*/{name}" for name in left_out),
        ],
        LD_PRELOAD=" ".join(libraries),
        PYTHONPATH=str(ROOT),
        PYTHONMALLOC="malloc",
        CORTEX_SANITIZED=str(folder),
        # Python keeps what it interned until its end: no leaks are looked for.
        ASAN_OPTIONS=f"detect_leaks=0:log_path={reports}",
    )
    written = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("report.*"))]
    passed = re.search(r"(\d+) passed", text)
    fine = status == 0 and passed is not None and not written
    line = (
        f"extensions: {passed[0] if passed else 'no tests passed'}, {len(written)} reports, status {status}"
    )
    return Outcome(fine, line, "\n".join([text, *written]))
