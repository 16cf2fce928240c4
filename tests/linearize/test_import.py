"""Without the extension the package does not import, and nothing that runs uses the reference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HIDE = "import sys; sys.modules['cortex.linearize._native'] = None; "


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])


def test_a_missing_extension_is_said_plainly():
    done = run(HIDE + "import cortex.linearize")
    assert done.returncode == 1
    assert "ImportError: cortex.linearize: its native extension is not built" in done.stderr


def test_the_reference_is_not_imported():
    # A package `cortex` without its contents: the oracle, which may read structures through the reference.
    alone = (
        "import sys, types; p = sys.modules['cortex'] = types.ModuleType('cortex'); p.__path__ = ['cortex']"
    )
    ask = "import cortex.linearize; print([name for name in sys.modules if 'linearize.reference' in name])"
    done = run(f"{alone}; {ask}")
    assert done.stdout.strip() == "[]", done.stderr


def test_a_free_threaded_build_is_refused():
    done = run("import sys; sys.abiflags = 't'; import cortex")
    assert done.returncode == 1
    assert "ImportError: ragged: this Python is a free-threaded build" in done.stderr
