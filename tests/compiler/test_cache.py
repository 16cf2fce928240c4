"""Kernels from the disk: the same bits without the compiler, and no harm from whatever the folder holds."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import cortex
from cortex import models, ra
from cortex.compiler import pipeline
from cortex.compiler.compile import recipe_of
from cortex.compiler.pipeline import generate_kernel
from ragged.compiled import generate as kernels
from ragged.compiled import kernel_cache
from ragged.compiled.kernel_cache import KernelCache, cache_folder
from ragged.errors import DataError
from ragged.ir.parser import parse
from ragged.runtime import disk_cache

MODEL = models.tree_sum(hidden=8, vocab=20)
PARAMS = MODEL.init_params(seed=1)
TREE = (((1, 2), 3), (4, (5, 6)))


@pytest.fixture(autouse=True)
def compilations(monkeypatch) -> list[object]:
    """What has been compiled: the cache is on in these tests, and no sources are written meanwhile."""
    done: list[object] = []

    def counted(*arguments, **options):
        done.append(arguments)
        return generate_kernel(*arguments, **options)

    monkeypatch.setattr(pipeline, "generate_kernel", counted)
    monkeypatch.setattr(kernel_cache, "changed_since_import", lambda packages: False)
    return done


def compiled(**options) -> cortex.RecursiveFunction:
    return cortex.compile(MODEL, PARAMS, threads=2, **options)


def bits(fn: cortex.RecursiveFunction) -> bytes:
    return fn(TREE).nodes("h")[0].tobytes()


def entry_in(cache_dir):
    (path,) = cache_dir.glob("*.entry")
    return path


def test_a_kernel_is_compiled_once(cache_dir, compilations):
    first = compiled()
    again = compiled()
    assert len(compilations) == 1
    assert bits(first) == bits(again)
    for stage in ("ra", "schedule", "ilir", "loops", "checks", "tir", "asm"):
        assert first.show(stage) == again.show(stage)
    assert repr(first) == repr(again)


@pytest.mark.parametrize("keep", ["nodes", "roots"])
def test_other_parameters_and_vocabularies_share_it(cache_dir, compilations, keep):
    compiled(keep=keep)
    other = MODEL.init_params(seed=2)
    fn = cortex.compile(MODEL, other, threads=2, keep=keep, vocab=cortex.Vocab(["a", "b"]))
    assert len(compilations) == 1
    want = ra.evaluate(MODEL, other, TREE)["h"][-1]
    assert np.abs(fn(TREE)["h"][0] - want).max() < 1e-6
    assert fn("(0 (0 a) (0 c))")["h"].shape == (1, 8)


def test_other_threads_targets_results_and_schedules_do_not(cache_dir, compilations):
    compiled()
    cortex.compile(MODEL, PARAMS, threads=1)
    compiled(target="llvm -mcpu=x86-64-v2")
    cortex.compile(ra.Schedule(MODEL), PARAMS, threads=2)
    compiled(keep="roots")
    assert len(compilations) == len(list(cache_dir.glob("*.entry"))) == 5


def test_it_can_be_switched_off(cache_dir, compilations, monkeypatch):
    compiled(cache=False)
    assert not list(cache_dir.glob("*.entry"))
    monkeypatch.setenv("CORTEX_CACHE_DIR", "")
    compiled()
    assert not list(cache_dir.glob("*.entry")) and len(compilations) == 2


def test_where_it_is(cache_dir, monkeypatch, tmp_path):
    assert cache_folder() == cache_dir
    monkeypatch.delenv("CORTEX_CACHE_DIR")
    monkeypatch.delenv("RAGGED_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / "cortex"
    monkeypatch.setattr(kernel_cache.platformdirs, "user_cache_dir", lambda *_, **__: "~/.cache/cortex")
    assert cache_folder() is None, "a user without a home"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:5000] + b"\0" * 100 + data[5100:],
        lambda data: b"#!/bin/sh\nrm -rf /\n",
    ],
    ids=["empty", "half", "one byte short", "overwritten", "foreign"],
)
def test_a_damaged_entry_is_replaced(cache_dir, compilations, damage):
    want = bits(compiled())
    path = entry_in(cache_dir)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert bits(compiled()) == want
    assert len(compilations) == 2 and entry_in(cache_dir).read_bytes() == whole
    assert bits(compiled()) == want and len(compilations) == 2


def test_an_entry_that_is_whole_and_says_something_else(cache_dir, compilations, monkeypatch):
    """As an older version might have left it under the same key: checked hashes, another content."""
    want = bits(compiled())
    key = entry_in(cache_dir).stem
    disk = kernel_cache.DiskCache(cache_dir, kernel_cache.LIMIT)
    entry, members = kernel_cache.read_bundle(kernel_cache._FORM, disk.get(key))
    kernel = entry.kernel
    interface = kernel.executable.interface
    others = [
        replace(entry, origins=()),
        replace(entry, origins=(tuple((10**6,) * len(stage) for stage in entry.origins[0]),)),
        with_executable(entry, features=("avx99",)),
        with_executable(entry, architecture="z80"),
        with_executable(entry, interface=replace(interface, declarations="import os")),
        with_executable(entry, interface=replace(interface, names=("one",))),
        with_executable(entry, interface=replace(interface, stages=renamed(interface.stages))),
    ]
    for number, other in enumerate(others, 2):
        disk.put(key, kernel_cache.write_bundle(kernel_cache._FORM, other, members))
        assert bits(compiled()) == want and len(compilations) == number
    disk.put(key, kernel_cache.write_bundle(kernel_cache._FORM, entry, {"code.so": b"no code"}))
    assert bits(compiled()) == want and len(compilations) == len(others) + 2


def with_executable(entry, **changes):
    kernel = entry.kernel
    return replace(entry, kernel=replace(kernel, executable=replace(kernel.executable, **changes)))


def renamed(stages):
    return tuple(replace(stage, function=f"{stage.function}_else") for stage in stages)


def test_a_folder_that_cannot_be_used(tmp_path, monkeypatch, compilations):
    want = None
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for folder in ("/proc/cortex", tmp_path / "file" / "inner", tmp_path / "open", "/dev/null"):
        monkeypatch.setenv("CORTEX_CACHE_DIR", str(folder))
        got = bits(compiled())
        assert want in (None, got)
        want = got
    assert len(compilations) == 4


def test_a_full_disk(cache_dir, compilations, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_cache, "_write", full)
    assert bits(compiled()) == bits(compiled())
    assert len(compilations) == 2 and list(cache_dir.glob("*.entry")) == []
    assert caplog.messages == [
        f"the cache {cache_dir} keeps nothing, and each process compiles anew: [Errno 28] No space left on device"
    ]


def test_no_linker_is_no_cache(cache_dir, compilations, monkeypatch):
    want = bits(compiled(cache=False))
    monkeypatch.setattr(kernels, "link", lambda objects: None)
    assert bits(compiled()) == want and not list(cache_dir.glob("*.entry"))
    assert compiled().show("asm").startswith("model_kernel_compute_")


def test_nowhere_to_run_a_library_from(cache_dir, compilations, monkeypatch):
    """As with a folder for temporary files that is mounted noexec: what was just compiled runs all the same."""

    def refused(*_):
        raise DataError("compiled code cannot be loaded")

    want = bits(compiled(cache=False))
    monkeypatch.setattr("ragged.runtime.executable.Library", refused)
    assert bits(compiled()) == want
    assert not list(cache_dir.glob("*.entry"))


def test_nothing_is_kept_of_sources_that_change(cache_dir, monkeypatch):
    monkeypatch.setattr(kernel_cache, "changed_since_import", lambda packages: True)
    compiled()
    assert not list(cache_dir.glob("*.entry"))


CHECKED = """
program("p")
n: input()
word: payload(i < n)
table: parameter(float32[5])
y: output(float32[n])
with kernel:
    for i in parallel(n):
        y[i] = table[word(i)]
"""


def test_a_check_says_where_this_program_comes_from(cache_dir):
    """The same program from two files: one entry, and each finds its own lines in it."""
    here, there = parse(CHECKED, file="here.py"), parse("\n\n" + CHECKED, file="there.py")
    made = generate_kernel(here, "cpu", 1)
    KernelCache(cache_dir, recipe_of(here, "cpu", 1)).keep(made)
    sites = {}
    for name, program in (("here", here), ("there", there)):
        found = KernelCache(cache_dir, recipe_of(program, "cpu", 1)).find()
        assert found is not None
        (sites[name],) = {site.at for entry in found.entries.values() for site in entry.checks if site.at}
    assert str(sites["here"]) == "here.py:9" and str(sites["there"]) == "there.py:11"
    assert any(site.at == sites["here"] for entry in made.entries.values() for site in entry.checks)


SCRIPT = """
import json, sys
sys.modules["torch"] = None  # which tvm_ffi would import for its own sake
import cortex
from cortex import models
model = models.tree_sum(hidden=8, vocab=20)
fn = cortex.compile(model, model.init_params(seed=1), threads=2)
h = fn((((1, 2), 3), (4, (5, 6)))).nodes("h")[0]
print(json.dumps({"bits": h.tobytes().hex(), "compiler": "tvm" in sys.modules or "z3" in sys.modules}))
"""


# Sources that are written while processes run make them compile for themselves; here they count as they were.
SETTLED = """
from ragged.compiled import kernel_cache, key
key.compiler_identity = lambda packages: "settled"
kernel_cache.changed_since_import = lambda packages: False
"""


def start(first: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", first + SCRIPT], stdout=subprocess.PIPE, text=True)


def result(process) -> dict[str, object]:
    out, _ = process.communicate(timeout=250)
    assert process.returncode == 0
    return json.loads(out)


def test_another_process_needs_no_compiler(cache_dir):
    want = bits(compiled(cache=False)).hex()
    assert result(start()) == {"bits": want, "compiler": True}
    assert result(start()) == {"bits": want, "compiler": False}


def test_many_processes_at_once(cache_dir):
    """They all find nothing, or the same damaged entry, and write at once."""
    want = result(start(SETTLED))["bits"]
    path = entry_in(cache_dir)
    path.write_bytes(path.read_bytes()[:-7])
    running = [start(SETTLED) for _ in range(3)]
    assert [result(process)["bits"] for process in running] == [want] * 3
    assert entry_in(cache_dir) == path
    assert result(start(SETTLED)) == {"bits": want, "compiler": False}
