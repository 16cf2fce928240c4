"""Ragged functions from the disk: the same bits without code generation, one entry for each program."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import ragged
from ragged.api import pipeline
from ragged.api.pipeline import generate_kernel
from ragged.compiled import kernel_cache
from ragged.errors import DataError
from tests.ragged.api.functions import attention, bits, params_of, rows, scaled


@pytest.fixture(autouse=True)
def compilations(monkeypatch) -> list[object]:
    """What has been compiled: the cache is on in these tests, and no sources are written meanwhile."""
    done: list[object] = []

    def counted(recipe, options):
        done.append(recipe)
        return generate_kernel(recipe, options)

    monkeypatch.setattr(pipeline, "generate_kernel", counted)
    monkeypatch.setattr(kernel_cache, "changed_since_import", lambda packages: False)
    return done


def test_a_function_is_compiled_once(cache_dir, compilations):
    first = ragged.compile(attention(), params_of("attention"), threads=2)
    again = ragged.compile(attention(), params_of("attention", seed=4), threads=2)
    assert len(compilations) == len(list(cache_dir.glob("*.entry"))) == 1
    for stage in ("ragged", "schedule", "loops", "prelude", "tir", "asm"):
        assert first.show(stage) == again.show(stage)
    x = rows()
    assert bits(again.with_params(params_of("attention"))(A=x)) == bits(first(A=x))


def test_other_threads_targets_schedules_and_programs_do_not_share(cache_dir, compilations):
    ragged.compile(scaled(), threads=2)
    ragged.compile(scaled(), threads=1)
    ragged.compile(scaled(), threads=2, target="llvm -mcpu=x86-64-v2")
    ragged.compile(scaled(wide=17), threads=2)
    for change in (pad, fuse):
        s = scaled()
        change(s, s.outputs[0])
        ragged.compile(s, threads=2)
    assert len(compilations) == len(list(cache_dir.glob("*.entry"))) == 6


def pad(s, b):
    s.pad_dimension(b.dims[1], 4)


def fuse(s, b):
    s.fuse_loops(b.loops[0], b.loops[1])


def test_it_can_be_switched_off(cache_dir, compilations, monkeypatch):
    ragged.compile(scaled(), cache=False)
    assert not list(cache_dir.glob("*.entry"))
    monkeypatch.setenv("CORTEX_CACHE_DIR", "")
    monkeypatch.setenv("RAGGED_CACHE_DIR", "")
    ragged.compile(scaled())
    assert not list(cache_dir.glob("*.entry")) and len(compilations) == 2


def test_a_damaged_entry_is_replaced(cache_dir, compilations):
    want = bits(ragged.compile(scaled(), threads=2)(A=rows()))
    (path,) = cache_dir.glob("*.entry")
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(damaged)
        assert bits(ragged.compile(scaled(), threads=2)(A=rows())) == want
        assert path.read_bytes() == whole
    assert len(compilations) == 4


def test_checks_of_the_prelude_say_what_is_wrong(cache_dir):
    """An extent that int32 does not hold: its check is in a prelude, which comes from the cache as well."""
    batch, length = ragged.dim("batch"), ragged.dim("len")
    n = ragged.length_fn("n", over=batch)
    x = ragged.input_tensor("x", [(batch, ragged.size("B"))])
    y = ragged.compute("y", [x.dims[0], (length, 4 * n(batch))], lambda b, t: x[b])
    for _ in range(2):
        f = ragged.compile(y)
        assert f(x=np.ones(2, np.float32), n=[1, 0]).to_list() == [[1, 1, 1, 1], []]
        with pytest.raises(DataError, match="an extent is 4294967296, and 2147483647 is the most"):
            f(x=np.ones(2, np.float32), n=[2**30, 2**30])


SCRIPT = """
import json, sys
sys.modules["torch"] = None  # which tvm_ffi would import for its own sake
from ragged.compiled import kernel_cache, key
key.compiler_identity = lambda packages: "settled"
kernel_cache.changed_since_import = lambda packages: False
import ragged
from tests.ragged.api.functions import bits, rows, scaled
f = ragged.compile(scaled(), threads=2)
generated = {"tvm", "ragged.codegen.build", "ragged.auto.default_schedule"} & set(sys.modules)
print(json.dumps({"bits": bits(f(A=rows()))[0].hex(), "generated": bool(generated)}))
"""


def result() -> dict[str, object]:
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=250)
    return json.loads(done.stdout)


def test_another_process_generates_no_code(cache_dir):
    want = bits(ragged.compile(scaled(), threads=2, cache=False)(A=rows()))[0].hex()
    assert result() == {"bits": want, "generated": True}
    assert result() == {"bits": want, "generated": False}
