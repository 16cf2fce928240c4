"""The machine of a target: measured once for this processor, stated for others."""

from dataclasses import replace

import pytest

from ragged.compiled import target_machine
from ragged.compiled.ceilings import measure_rates
from ragged.compiled.target_machine import machine_of, measured_machine
from ragged.machine import Machine, Rates, this_machine
from ragged.processors import PROCESSORS

ODD = Rates(1, 4, 1, 12, 6, 4, 1200)


def test_rates_are_measured_once_and_kept(monkeypatch, tmp_path):
    calls = []

    def measure(machine: Machine) -> Rates:
        calls.append(machine)
        return ODD

    monkeypatch.setattr(target_machine, "measure_rates", measure)
    monkeypatch.setattr(target_machine, "cache_folder", lambda: tmp_path)
    assert measured_machine().rates == ODD
    assert measured_machine() == replace(this_machine(), rates=ODD)
    assert len(calls) == 1


def test_without_a_folder_rates_are_stated(monkeypatch):
    monkeypatch.setattr(target_machine, "cache_folder", lambda: None)
    monkeypatch.setattr(target_machine, "measure_rates", lambda machine: ODD)
    assert measured_machine() == this_machine()


def test_measured_rates_are_plausible():
    found = measure_rates(this_machine(), runs=3)
    assert 1 <= found.multiply_adds <= 8 and 1 <= found.loads <= 8
    assert 4 <= found.memory_bytes <= found.l3_bytes <= 256
    assert 300 <= found.mhz <= 10_000 and found.mhz % 100 == 0


@pytest.mark.parametrize("name", ["znver4", "haswell"])
def test_a_named_target_has_its_stated_machine(name):
    found = machine_of(f"llvm -mcpu={name} -num-cores=8")
    assert found == replace(PROCESSORS[name], cores=8)


def test_numbers_in_a_target_stand_in_place_of_stated_ones():
    options = {
        "vector-width": 256,
        "l1_cache_size_bytes": 1,
        "l2_cache_size_bytes": 2,
        "l3_cache_size_bytes": 3,
    }
    found = machine_of({"kind": "llvm", "mcpu": "znver4", "num-cores": 8, **options})
    zen_4 = PROCESSORS["znver4"]
    assert found == replace(zen_4, vector_bytes=32, cores=8, l1_bytes=1, l2_bytes=2, l3_bytes=3)
    assert machine_of("llvm -mcpu=neoverse-n1 -vector-width=512").vector_bytes == 16, "it has no more"


def test_scalable_vectors_are_as_wide_as_the_target_says():
    plain, found = (machine_of(f"llvm -mcpu=neoverse-v1{width}") for width in ("", " -vector-width=256"))
    assert (plain.vector_bytes, found.vector_bytes) == (16, 32)
    assert found.gflops == plain.gflops


def test_a_target_of_features_is_described_by_them():
    found = machine_of("llvm -mcpu=x86-64 -mattr=+avx2,+fma")
    assert (found.vector_bytes, found.vector_registers) == (32, 16)
