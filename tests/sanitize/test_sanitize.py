"""The command that runs sanitizers: it finds planted faults, and takes no silence for success."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cortex.linearize import _native
from ragged.runtime import _team
from tests.sanitize.checks import ROOT, compile_with, planted, run, team

OVERFLOW = """
int main(int count, char**) {
  int* values = new int[4]{};
  values[3 + count] = 1;
  return values[0];
}
"""


def test_a_fault_is_found_and_a_sanitizer_that_reports_none_is_said(tmp_path):
    source = tmp_path / "overflow.cpp"
    source.write_text(OVERFLOW, encoding="utf-8")
    program = compile_with("address", [source], tmp_path / "overflow")
    status, text = run([program])
    assert status != 0 and "AddressSanitizer: heap-buffer-overflow" in text
    assert planted(program, "x", "AddressSanitizer: heap-buffer-overflow").fine
    silent = planted(Path("/bin/true"), "overflow", "AddressSanitizer: heap-buffer-overflow")
    assert (silent.fine, silent.line) == (False, "true: a planted overflow is NOT FOUND")


def test_a_test_of_the_team_that_counts_nothing_has_failed():
    assert (team(Path("/bin/true")).fine, team(Path("/bin/true")).line) == (
        False,
        "true: ended early, status 0",
    )


def test_tests_run_on_the_extensions_of_the_folder(tmp_path):
    for module in (_native, _team):
        built = Path(module.__file__)
        (tmp_path / built.name).symlink_to(built)
    names = "['cortex.linearize._native', 'ragged.runtime._team']"
    script = f"import sys, tests.sanitize.plugin, cortex; print(*(sys.modules[n].__file__ for n in {names}))"
    environment = os.environ | {"CORTEX_SANITIZED": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    )
    assert {Path(path).parent for path in done.stdout.split()} == {tmp_path}
