"""What is read of the machine is plausible, and what cannot be read is taken to be small."""

import os
from pathlib import Path

import pytest

from ragged import machine
from ragged.machine import Machine, Rates, this_machine
from ragged.processors import PROCESSORS, processor


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


def test_rates_follow_from_the_fields():
    found = Machine(64, 32, 2, 32 * 1024, 1024**2, l3_bytes=2**25, rates=Rates(2, 4, 2, 48, 16, 8, 3000))
    assert found.accumulators == 8
    assert found.gflops == 192
    sizes = (1024, 2**16, 2**24, 2**28)
    assert [found.read_bytes(size) for size in sizes] == [128, 48, 16, 8]


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_stated_processor_is_plausible(name):
    stated = PROCESSORS[name]
    rates = stated.rates
    assert stated.l1_bytes < stated.l2_bytes < stated.l3_bytes
    assert rates.loads * stated.vector_bytes >= rates.l2_bytes >= rates.l3_bytes >= rates.memory_bytes
    assert 5 < stated.gflops < 300


def test_an_unknown_processor_is_described_by_its_vectors():
    assert processor("another", "x86_64", ("avx2", "avx512f")) == PROCESSORS["x86-64-v4"]
    assert processor("another", "x86_64", ("avx2", "fma")) == PROCESSORS["x86-64-v3"]
    assert processor("another", "x86_64", ()) == PROCESSORS["x86-64"]
    assert processor("another", "aarch64", ()) == PROCESSORS["neoverse-n1"]


def test_a_processor_without_its_vectors_is_another():
    assert processor("znver4", "x86_64", ("avx2", "avx512f")) == PROCESSORS["znver4"]
    assert processor("znver4", "x86_64", ("avx2",)) == PROCESSORS["x86-64-v3"]
