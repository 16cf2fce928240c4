"""A compilation that takes long is reported on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
import time

import pytest

from ragged.compiled import progress
from ragged.compiled.log import Stopwatch


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "waited", "said"), [(Terminal, 0.4, True), (Terminal, 0.0, False), (io.StringIO, 0.4, False)]
)
def test_a_long_compilation_is_reported_with_its_part(monkeypatch, stream, waited, said):
    monkeypatch.setattr(progress, "SLOW", 0.02)
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setenv("TERM", "xterm")
    with progress.reported_if_slow("a kernel"):
        Stopwatch().time("code generation", lambda: time.sleep(waited))
    written = sys.stderr.getvalue()
    assert ("compiling a kernel: code generation" in written) == said
    assert said or not written


def test_an_error_ends_it(monkeypatch):
    monkeypatch.setattr(progress, "SLOW", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError, match="no"), progress.reported_if_slow("a kernel"):
        time.sleep(0.1)
        raise ValueError("no")
