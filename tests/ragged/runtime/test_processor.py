"""What processors have, and what code needs of them."""

from __future__ import annotations

import pytest

from ragged.codegen.build import generate
from ragged.codegen.target_features import architecture_of, features_of, host_target, parse_target
from ragged.errors import UserError
from ragged.ir.parser import parse
from ragged.runtime import processor
from ragged.runtime.executable import Executable

PROGRAM = 'program("p")\nx: output(float32[1])\nwith kernel:\n    x[0] = 1.0\n'


def test_this_processor_has_what_code_for_it_uses():
    assert processor.architecture() == architecture_of(host_target())
    features = features_of(host_target())
    assert features and processor.missing(features) == []


def test_features_of_targets():
    assert features_of(parse_target("llvm -mcpu=x86-64")) == ("sse", "sse2")
    haswell = features_of(parse_target("llvm -mcpu=haswell"))
    assert {"avx2", "fma", "bmi", "bmi2", "lzcnt", "sse4.2"} <= set(haswell) and "avx512f" not in haswell
    changed = features_of(parse_target("llvm -mcpu=haswell -mattr=+avx512f,-fma"))
    assert {*changed} == {*haswell, "avx512f"} - {"fma"}


FLAGS = """\
processor : 0
model name : A
flags : fpu bmi1 abm pni sse4_1 avx512_vnni avx2

processor : 1
flags : fma
"""


def test_names_of_features(monkeypatch, tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(FLAGS)
    monkeypatch.setattr(processor, "Path", lambda _: path)
    processor._described.cache_clear()
    try:
        known = ("bmi", "lzcnt", "sse3", "sse4.1", "avx512vnni", "avx2")
        assert processor.missing((*known, "fma", "avx512-fp16")) == ["fma", "avx512-fp16"]
        path.unlink()
        processor._described.cache_clear()
        assert processor.missing(("avx2",)) == ["avx2"], "where nothing is known, nothing is there"
    finally:
        processor._described.cache_clear()


def test_scalable_vectors_have_bits(monkeypatch, tmp_path):
    length = tmp_path / "length"
    monkeypatch.setattr(processor, "_described", lambda: {"Features": "asimd sve"})
    monkeypatch.setattr(processor, "_VECTOR_LENGTH", length)
    assert processor.missing(("neon", "sve", "sve256")) == ["sve256"], "what is not known is not there"
    length.write_text("32\n")
    assert processor.missing(("neon", "sve", "sve256", "sve512")) == ["sve512"]
    wide = parse_target("llvm -mcpu=neoverse-v1 -vector-width=256")
    assert "sve256" in features_of(wide) and "sve256" not in features_of(
        parse_target("llvm -mcpu=neoverse-v1")
    )


def test_identity_tells_processors_apart():
    assert processor.identity().startswith(processor.architecture())
    assert len(processor.identity()) > len(processor.architecture())


@pytest.fixture
def executable():
    made = generate(parse(PROGRAM), "llvm -mcpu=x86-64")
    return Executable(made.interface(), str(made.target), "x86_64", ("sse2",))


def test_another_processor(executable):
    with pytest.raises(UserError) as lacking:
        Executable(executable.interface, "llvm -mcpu=x", "x86_64", ("sse2", "avx99", "amx-big")).load(b"")
    assert str(lacking.value) == (
        "the code was compiled for another processor: 'llvm -mcpu=x'\n"
        "  because: this one lacks avx99, amx-big\n"
        '  fix: compile on this machine, or for its target: "x86-64-v3" runs on most of today\'s'
    )
    with pytest.raises(UserError, match="because: this one is x86_64"):
        Executable(executable.interface, "llvm", "aarch64", ()).load(b"")


@pytest.mark.parametrize("code", [b"", b"#!/bin/sh", b"\x7fELF\x02\x01" + bytes(100)])
def test_code_that_is_none(executable, code):
    with pytest.raises(UserError):
        executable.load(code)
