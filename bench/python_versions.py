"""Writes docs/evidence/python_versions.md: nanoseconds a node of linearizing, for each version of Python.

    python -m bench.python_versions PYTHON ... [--rounds N] [--out FILE]

PYTHON is an interpreter with the project installed, such as .venv/bin/python and, after `make newer-python`,
build/newer-python/bin/python. Each runs `bench.linearize` once a round, in turns; an
entry is the fastest of all rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.machine import date_of
from bench.markdown import markdown_table

_ROOT = Path(__file__).resolve().parents[1]
_PAGE = _ROOT / "docs" / "evidence" / "python_versions.md"
_KINDS = ("Node", "object", "object, slots", "tuple", "string", "Forest")
_TEXT = """\
# Python versions

Nanoseconds a node that linearizing takes, of `python -m bench.python_versions {command}`:
{trees} trees of the sample treebank, {nodes:,} nodes, the fastest of {rounds} rounds in turns.
{processor}, {cores} cores; {date}.

{table}

The tests run on CPython 3.11, and those of inputs on one newer version (`make newer-python`). Attributes of objects are
read where CPython 3.11 to 3.14 keep them, which `cortex/linearize/native/instances.h` knows; slots are read so on every
version. On others attributes of objects without slots are looked up as the language defines: with the same results, in
two to three times the time, and vectors of nodes are copied instead of read in place. Free-threaded builds are refused
when `ragged` or `cortex` is imported.
"""


def measure(python: str, repeats: int) -> dict[str, Any]:
    """Return the JSON of one run of `bench.linearize` by an interpreter."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "linearize.json"
        command = [python, "-m", "bench.linearize", "--json", str(path), "--repeats", str(repeats)]
        done = subprocess.run(
            [*command, "--kinds", *_KINDS], cwd=_ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def fastest(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the fewest nanoseconds a node of each kind, in the largest batch."""
    found: dict[str, float] = {}
    for run in runs:
        most = max(each["trees"] for each in run["timings"])
        for each in run["timings"]:
            if each["trees"] == most:
                own = each["fastest"] / each["nodes"]
                found[each["kind"]] = min(own, found.get(each["kind"], own))
    return found


def page(command: str, runs: Sequence[Sequence[dict[str, Any]]]) -> str:
    """Return the page of the runs of each interpreter."""
    last = runs[0][-1]
    columns = [fastest(each) for each in runs]
    heads = ["structures", *(each[0]["versions"]["python"] for each in runs)]
    cells = [[kind, *(f"{column[kind]:.1f}" for column in columns)] for kind in _KINDS]
    largest = max(last["timings"], key=lambda each: int(each["nodes"]))
    return _TEXT.format(
        command=command,
        trees=largest["trees"],
        nodes=largest["nodes"],
        rounds=len(runs[0]),
        processor=last["machine"]["processor"],
        cores=last["machine"]["cores"],
        date=date_of(last["at"]),
        table="\n".join(markdown_table(heads, cells)),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(
        prog="bench.python_versions", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "pythons", nargs="+", metavar="PYTHON", help="an interpreter with the project installed"
    )
    parser.add_argument("--rounds", type=int, default=5, help="runs of each interpreter")
    parser.add_argument("--repeats", type=int, default=100, help="samples of each cell of a run")
    parser.add_argument("--out", type=Path, default=_PAGE, help="the page")
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    rounds = [[measure(python, given.repeats) for python in given.pythons] for _ in range(given.rounds)]
    command = f"{' '.join(given.pythons)} --rounds {given.rounds}"
    given.out.write_text(page(command, list(zip(*rounds, strict=True))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
