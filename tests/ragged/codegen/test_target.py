"""Targets: what is accepted, what is refused and how."""

from __future__ import annotations

import re

import pytest

from ragged.codegen.build import compile_program
from ragged.codegen.target import Target, grid_for
from ragged.codegen.target_features import features_of, has_matrix_unit, host_target, parse_target
from ragged.errors import ScheduleError, UserError
from ragged.ir.program import StageKind
from ragged.machine import Grid
from ragged.runtime import processor
from tests.ragged.codegen.hand import elementwise, op

EXAMPLES = "'cpu', 'x86-64-v3', 'llvm -mcpu=znver4 -mattr=+aes', or TVM's dict {'kind': 'llvm', ...}"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("llvm", {"kind": "llvm"}),
        ("llvm -mcpu=znver4", {"kind": "llvm", "mcpu": "znver4"}),
        (
            "llvm -mattr=+avx2,-fma -mcpu=x86-64 -num-cores=2",
            {"kind": "llvm", "mattr": ["+avx2", "-fma"], "mcpu": "x86-64", "num-cores": 2},
        ),
        ({"kind": "llvm", "mcpu": "znver4"}, {"kind": "llvm", "mcpu": "znver4"}),
        (
            "llvm -mcpu=neoverse-n1",
            {"kind": "llvm", "mcpu": "neoverse-n1", "mtriple": "aarch64-unknown-linux-gnu"},
        ),
        ("x86-64-v3", {"kind": "llvm", "mcpu": "x86-64-v3"}),
        ("x86-64", {"kind": "llvm", "mcpu": "x86-64"}),
        ("cuda", {"kind": "cuda"}),
        ("cuda -arch=sm_90", {"kind": "cuda", "arch": "sm_90"}),
    ],
)
def test_targets(given, wanted):
    target = parse_target(given)
    assert target.tvm == wanted
    assert parse_target(target) is target
    assert parse_target(str(target)) == target == parse_target(wanted)
    assert hash(parse_target(wanted)) == hash(target)


def test_caches_are_for_schedules_and_not_for_tvm():
    target = parse_target("llvm -mcpu=znver4 -l2_cache_size_bytes=4096")
    assert target.tvm == {"kind": "llvm", "mcpu": "znver4"}
    assert (
        str(target) == "llvm -l2_cache_size_bytes=4096 -mcpu=znver4" and parse_target(str(target)) == target
    )


@pytest.mark.parametrize(
    ("given", "grid"),
    [
        ("cpu", None),
        ("llvm -mcpu=znver4", None),
        ("cuda", Grid(132, 256, 227 * 1024)),
        ("cuda -arch=sm_80", Grid(108, 256, 163 * 1024)),
        ("cuda -arch=sm_1", Grid(84, 256, 99 * 1024)),
        (
            "cuda -multiprocessors=3 -max_threads_per_block=32 -max_shared_memory_per_block=100",
            Grid(3, 32, 100),
        ),
    ],
)
def test_grids(given, grid):
    assert grid_for(given) == grid


def test_this_machine():
    host = parse_target("cpu")
    assert host is host_target()
    assert host.kind == "llvm"
    assert dict(host.settings)["mcpu"] not in ("", "generic")


@pytest.mark.parametrize(
    "target", ["cpu", "llvm -mcpu=graniterapids", "llvm -mcpu=x86-64 -mattr=+avx10.1,+fma"]
)
def test_versions_of_avx10_are_no_features(target):
    """LLVM finds avx10.1 where Linux lists its parts alone: code was refused on the processor that made it."""
    assert not [feature for feature in features_of(parse_target(target)) if feature.startswith("avx10")]
    assert "fma" in features_of(parse_target("llvm -mcpu=x86-64 -mattr=+avx10.1,+fma"))


def test_a_process_that_may_use_no_tiles_compiles_for_none(monkeypatch):
    had = has_matrix_unit(host_target())
    monkeypatch.setattr("ragged.codegen.target_features.may_use_tiles", lambda: False)
    monkeypatch.setattr("ragged.runtime.processor.may_use_tiles", lambda: False)
    host_target.cache_clear()
    try:
        assert not has_matrix_unit(host_target())
        assert {"amx-bf16", "amx-tile"}.isdisjoint(features_of(host_target()))
        assert processor.missing(("amx-tile", "amx-bf16")) == ["amx-tile", "amx-bf16"]
    finally:
        monkeypatch.undo()
        host_target.cache_clear()
    assert has_matrix_unit(host_target()) == had
    assert (processor.missing(("amx-tile", "amx-bf16")) == []) == had


def test_this_machine_has_what_its_target_promises():
    assert processor.missing(features_of(host_target())) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "opencl -x=1",
            "target: no target 'opencl' in 'opencl -x=1'\n  because: the kinds are llvm, cuda\n"
            f"  fix: one of {EXAMPLES}",
        ),
        ("", f"target: no target '' in ''\n  because: the kinds are llvm, cuda\n  fix: one of {EXAMPLES}"),
        (
            7,
            f"target: 7 is not a target\n  because: it is neither a string nor a dict\n  fix: one of {EXAMPLES}",
        ),
        (
            "llvm mcpu=znver4",
            "target: cannot read 'mcpu=znver4' in 'llvm mcpu=znver4'\n"
            f"  because: an option is written -name=value\n  fix: for example {EXAMPLES}",
        ),
        (
            "llvm -l2_cache_size_bytes=many",
            "target: -l2_cache_size_bytes=many in 'llvm -l2_cache_size_bytes=many' is no number from 1 up",
        ),
        ("llvm -num-cores=²", "target: -num-cores=² in 'llvm -num-cores=²' is no number from 1 up"),
        (
            f"llvm -num-cores={'9' * 5000}",
            f"target: -num-cores={'9' * 5000} in 'llvm -num-cores={'9' * 5000}' is no number from 1 up",
        ),
        (
            {"kind": "llvm", "num-cores": 0},
            "target: -num-cores=0 in '{'kind': 'llvm', 'num-cores': 0}' is no number from 1 up",
        ),
        (
            "cuda -sm=90",
            "target: 'cuda' has no option 'sm' in 'cuda -sm=90'\n  because: its options are arch, host, keys, "
            "max_num_threads, max_shared_memory_per_block, max_threads_per_block, multiprocessors, tag, "
            "thread_warp_size\n"
            f"  fix: for example {EXAMPLES}",
        ),
    ],
)
def test_what_is_no_target(given, message):
    with pytest.raises(UserError) as error:
        parse_target(given)
    assert str(error.value) == message


def test_a_processor_that_llvm_does_not_know():
    with pytest.raises(UserError, match="target: no processor 'zen99' in 'llvm -mcpu=zen99'"):
        parse_target("llvm -mcpu=zen99")


@pytest.mark.parametrize("feature", ["+fmaa", "-fmaa", "avx2", "+"])
def test_a_feature_that_llvm_does_not_know(feature):
    with pytest.raises(
        UserError, match=re.escape(f"target: no feature '{feature}' in 'llvm -mattr={feature}'")
    ):
        parse_target(f"llvm -mattr={feature}")
    with pytest.raises(UserError, match="target: no feature"):
        parse_target({"kind": "llvm", "mattr": feature})
    known = parse_target("llvm -mcpu=x86-64-v3 -mattr=+avx512f,-fma -mtriple=x86_64-linux-gnu")
    assert "avx512f" in features_of(known) and "fma" not in features_of(known)
    assert "sve2" in features_of(parse_target("llvm -mcpu=neoverse-v1 -mattr=+sve2"))


def test_no_code_for_gpus_yet():
    with pytest.raises(ScheduleError) as error:
        compile_program(elementwise(lambda a, b: a), "cuda -arch=sm_90")
    assert str(error.value) == (
        "compile: cannot generate code for 'cuda -arch=sm_90' of this\n"
        "  because: code for GPUs is generated of recursive models' kernels alone\n"
        "  fix: target='cpu'"
    )


def test_the_target_decides_the_instructions():
    program = elementwise(lambda a, b: op("+", a, b), width=16)
    assert "zmm" in compile_program(program, "llvm -mcpu=znver4").asm(StageKind.KERNEL)
    assert "ymm" not in compile_program(program, "llvm -mcpu=x86-64").asm(StageKind.KERNEL)
    assert compile_program(program, Target("llvm", (("mcpu", "haswell"),))).target.settings == (
        ("mcpu", "haswell"),
    )
