"""Code for another processor than this one: its schedule is that processor's, and it can be saved and not called."""

from __future__ import annotations

import io
import re
import shutil

import numpy as np
import pytest

import ragged
from cortex import models, ra
from cortex.compiler.pipeline import passes_for
from ragged.codegen.build import generate
from ragged.codegen.elf import architecture_in
from ragged.codegen.link import link
from ragged.compiled.artifact import read_artifact
from ragged.errors import UserError
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.passes.pipeline import run_passes
from ragged.runtime import processor

LANES = {"skylake-avx512": 16, "znver4": 16, "x86-64-v3": 8, "neoverse-v1": 4}
"""Floats in a vector register, by processor."""
REGISTERS = {"skylake-avx512": 32, "znver4": 32, "x86-64-v3": 16, "neoverse-v1": 32}
WIDTH = 96


def product():
    """Rows of any number by parameters."""
    r, c, k = ragged.dim("r"), ragged.dim("c"), ragged.dim("k")
    x = ragged.input_tensor("X", [(r, ragged.size("T", 1, 64)), (k, 64)])
    w = ragged.parameter("W", [(c, WIDTH), (k, 64)])
    return ragged.compute(
        "Y",
        [(r, ragged.size("T", 1, 64)), (c, WIDTH)],
        lambda i, j: ragged.sum(k, lambda q: x[i, q] * w[j, q]),
    )


WEIGHTS = {"W": np.linspace(-1, 1, WIDTH * 64, dtype=np.float32).reshape(WIDTH, 64)}


def compiled(target, **options):
    return ragged.compile(product(), WEIGHTS, target=target, **options)


def lanes_in(loops):
    """Return the numbers of lanes of the vectorized loops of a program's text."""
    return set(map(int, re.findall(r"vectorized\((\d+)", loops)))


NEEDS_LINKER = [*list(LANES)[:-1], pytest.param("neoverse-v1", marks=pytest.mark.arm)]


@pytest.mark.parametrize("name", NEEDS_LINKER)
def test_tiles_are_those_of_the_target(name, golden):
    f = compiled(f"llvm -mcpu={name} -num-cores=2")
    golden(f"foreign_{name}.txt", f"{f.plan(T=37)}\n")
    assert lanes_in(f.show("loops")) == {LANES[name]}
    for rows, columns in re.findall(r"(\d+)x(\d+)", f.show("variants")):
        assert int(rows) * int(columns) + int(columns) + 1 <= REGISTERS[name], (
            "accumulators, a row of W, an x"
        )


@pytest.mark.parametrize("name", LANES)
def test_recursive_models_follow_the_target(name):
    program = ra.Schedule(models.tree_rnn(hidden=64, embed=16, vocab=9)).lower()
    steps = run_passes(program, passes_for(2, target=f"llvm -mcpu={name}"))
    assert lanes_in(to_text(steps[-1].program)) == {LANES[name]}


def test_numbers_in_the_target_change_the_schedule():
    named = {"kind": "llvm", "mcpu": "skylake-avx512"}
    plain = compiled("llvm -mcpu=skylake-avx512 -num-cores=2").plan(T=37)
    other = compiled({**named, "num-cores": 8, "vector-width": 256, "l2_cache_size_bytes": 2048})
    plan = other.plan(T=37)
    assert (plain.workers, plan.workers) == (2, 8)
    assert max(lanes_in(other.show("loops"))) == 8 and plan.core_gflops == plain.core_gflops / 2


def test_a_schedule_for_more_cores_has_the_same_bits():
    rows = np.random.default_rng(0).standard_normal((37, 64)).astype(np.float32)
    host = "llvm -mcpu=x86-64-v3" if processor.architecture() == "x86_64" else "llvm -mcpu=generic"
    one, many = (compiled(f"{host} -num-cores={cores}")(X=rows) for cores in (1, 64))
    assert one.tobytes() == many.tobytes()


def test_code_for_another_processor_is_saved_and_not_called():
    target = "llvm -mcpu=bdver4"  # FMA4, which no processor has had since
    for _ in range(2):  # the second is from the cache
        f = compiled(target)
        with pytest.raises(UserError, match="the code was compiled for another processor: 'llvm"):
            f(X=np.zeros((3, 64), np.float32))
    stream = io.BytesIO()
    f.save(stream)
    with pytest.raises(UserError, match="the code was compiled for another processor: 'llvm"):
        ragged.load(stream.getvalue())
    saved, _, members = read_artifact(type(f).form, stream.getvalue())
    executable = saved.kernel.executable
    assert architecture_in(members["code.so"]) == executable.architecture == "x86_64"
    assert "fma4" in executable.features and executable.target == target


def test_without_a_linker_for_it_code_is_refused(monkeypatch):
    objects = generate(parse(PROGRAM), "llvm -mcpu=neoverse-n1").object_code()
    assert architecture_in(objects) == "aarch64" and architecture_in(b"text") is None
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: found(name) if name in ("ld", "cc", "gcc") else None)
    assert link(objects) is None
    with pytest.raises(UserError) as error:
        compiled("llvm -mcpu=neoverse-n1 -num-cores=7", cache=False)
    assert str(error.value) == (
        "compile: found no linker for 'llvm -mcpu=neoverse-n1 -mtriple=aarch64-unknown-linux-gnu -num-cores=7'\n"
        "  because: code for another processor is linked by lld or by aarch64-linux-gnu-ld\n"
        "  fix: on Debian: apt-get install binutils-aarch64-linux-gnu"
    )


PROGRAM = 'program("p")\nx: output(float32[1])\nwith kernel:\n    x[0] = 1.0\n'
