"""What is read of the machine is plausible, and what cannot be read is taken to be small."""

import os
from pathlib import Path

from ragged import machine
from ragged.machine import this_machine


def test_this_machine():
    found = this_machine()
    assert found.vector_bytes in (16, 32, 64) and found.vector_registers in (16, 32)
    assert found.lanes(4) == found.vector_bytes // 4
    assert found.cores == len(os.sched_getaffinity(0))
    assert 8 * 1024 <= found.l1_bytes < found.l2_bytes


def test_a_machine_that_says_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "_CACHES", tmp_path)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: (_ for _ in ()).throw(OSError()))
    found = this_machine.__wrapped__()
    assert (found.vector_bytes, found.vector_registers) == (16, 16)
    assert (found.l1_bytes, found.l2_bytes) == (32 * 1024, 256 * 1024)
