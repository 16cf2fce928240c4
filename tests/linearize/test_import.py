"""Without the extension the package does not import, and nothing that runs uses the reference."""

from __future__ import annotations

import subprocess
import sys

HIDE = "import sys; sys.modules['cortex.linearize._native'] = None; "


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_missing_extension_is_said_plainly():
    done = run(HIDE + "import cortex.linearize")
    assert done.returncode == 1
    assert "ImportError: cortex.linearize: its native extension is not built" in done.stderr


def test_the_reference_is_not_imported():
    done = run("import sys, cortex.linearize; print([m for m in sys.modules if 'linearize.reference' in m])")
    assert done.stdout.strip() == "[]", done.stderr
