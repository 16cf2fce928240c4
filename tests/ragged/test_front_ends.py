"""Front ends register their package: it names settings and the cache, and source locations skip its frames."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ragged import front_ends
from ragged.front_ends import application, is_internal, register_front_end, setting


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setattr(front_ends, "_packages", ["ragged"])


def test_the_last_front_end_names_settings_and_the_cache(monkeypatch):
    assert application() == "ragged" and not is_internal("trees.models")
    register_front_end("trees")
    register_front_end("trees")
    assert application() == "trees" and is_internal("trees.models") and is_internal("ragged.ir.expr")
    for name in ("RAGGED_DEPTH", "TREES_DEPTH"):
        monkeypatch.delenv(name, raising=False)
    assert setting("DEPTH") is None
    monkeypatch.setenv("RAGGED_DEPTH", "1")
    assert setting("DEPTH") == "1"
    monkeypatch.setenv("TREES_DEPTH", "")
    assert setting("DEPTH") == "", "an empty setting is one"


def test_importing_cortex_registers_it():
    script = "import ragged.front_ends as f; print(f.application()); import cortex; print(f.application())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ragged", "cortex"]
