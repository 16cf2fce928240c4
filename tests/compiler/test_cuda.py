"""Models compiled for a GPU: the kernel that comes out, and calls of it through a stand-in for the driver."""

from __future__ import annotations

import re
import struct
from dataclasses import replace

import numpy as np
import pytest

import cortex
from cortex import ra
from cortex.compiler.pipeline import passes_for
from cortex.ra.schedule import default_schedule
from ragged.codegen.cuda import nvcc
from ragged.codegen.target import grid_for
from ragged.compiled import kernel_cache
from ragged.errors import DataError, ScheduleError, UserError
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.printer import to_text
from ragged.ir.stmt import Alloc, Barrier, BarrierScope
from ragged.ir.walk import statements
from ragged.passes.pipeline import run_passes
from ragged.runtime.cuda import caller, driver
from tests.compiler.grids import HIDDEN, model_of, trees
from tests.support.agreement import check_agreement
from tests.support.device import standin

TARGET = "cuda -arch=sm_90 -multiprocessors=3 -max_threads_per_block=4"
_CUDA = 190
"""What an ELF file says that is for a GPU of NVIDIA's."""


@pytest.fixture(scope="module", params=HIDDEN)
def compiled(request):
    """Each model, compiled by nvcc for three blocks of four threads, with its parameters."""
    model = model_of(request.param)
    params = model.init_params(seed=1)
    return request.param, model, params, cortex.compile(model, params, target=TARGET)


@pytest.fixture(scope="module")
def one():
    """The smallest of them."""
    model = model_of("tree_fc")
    params = model.init_params(seed=1)
    return model, params, cortex.compile(model, params, target=TARGET)


@pytest.fixture
def device(tmp_path, monkeypatch):
    """Makes a device that runs a function's kernel, and returns the library that stands in for its driver."""

    def device(fn):
        found, library = standin(fn.show("cuda"), "model_kernel", tmp_path)
        monkeypatch.setattr(caller, "the_driver", lambda: found)
        return library

    return device


def results(model, out, count):
    return [{key: out.nodes(key)[k] for key in model.results} for k in range(count)]


def test_it_is_one_kernel_with_the_barriers_of_the_program_and_its_weights_on_chip(compiled):
    name, model, _, fn = compiled
    source = fn.show("cuda")
    program = run_passes(default_schedule(model).lower(), passes_for(1, grid_for(TARGET)))[-1].program
    assert to_text(program) == fn.show("loops")
    body = source[source.index("__global__") :]
    assert body.count("__global__") == 1
    barriers = [stmt.scope for stmt in statements(program.kernel) if isinstance(stmt, Barrier)]
    assert body.count("ragged_grid_barrier(") == barriers.count(BarrierScope.TEAM) > 0
    assert body.count("__syncthreads()") == barriers.count(BarrierScope.BLOCK)
    allocated = [stmt.buffer for stmt in statements(program.kernel) if isinstance(stmt, Alloc)]
    chips = {buffer.name for buffer in allocated if buffer.scope is MemoryScope.SHARED}
    matrices = {
        name for name, each in model.inputs.items() if len(each.shape) == 2 and not name.startswith("emb")
    }
    assert chips == {f"{name}_chip" for name in matrices}
    assert body.count("reinterpret_cast<float*>(ragged_shared + ") == len(chips)
    launch = fn._parts.kernel.kernel.launch
    assert (launch.function, launch.blocks, launch.threads) == (
        "model_kernel",
        2 if name == "mv_rnn" else 3,
        4,
    )


def test_the_code_is_for_the_architecture(compiled):
    fn = compiled[3]
    code = fn._parts.kernel.cubin
    assert code[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", code, 18) == (_CUDA,)
    assert b".text.model_kernel\0" in code
    listing = fn.show("asm")
    assert ".target sm_90\n" in listing
    assert listing.count(".entry") == 1


def test_calls_agree_with_the_oracle(compiled, device):
    name, model, params, fn = compiled
    library = device(fn)
    fn = fn.with_params(params)  # which has nothing on a device yet
    for seed in range(3):
        batch = trees(name, seed)
        check_agreement(
            results(model, fn(batch), len(batch)), ra.evaluate(model, params, batch), f"{name}, batch {seed}"
        )
    assert library.standin_launches() == 3  # one launch a call
    resident = library.standin_live()
    fn(batch)
    assert library.standin_live() == resident
    assert fn.profile(batch, repeats=1).kernel_us.median > 0
    del fn
    assert library.standin_live() == 0


def test_a_saved_function_runs_without_nvcc(one, device, tmp_path, monkeypatch):
    model, params, fn = one
    fn.save(tmp_path / "m.cortex")
    monkeypatch.setattr(nvcc, "find_nvcc", lambda: pytest.fail("nvcc is asked for"))
    loaded = cortex.load(tmp_path / "m.cortex")
    for stage in ("cuda", "loops", "schedule"):
        assert loaded.show(stage) == fn.show(stage)
    device(loaded)
    batch = trees("tree_fc", 5)
    np.testing.assert_array_equal(loaded(batch)["h"], fn(batch)["h"])
    check_agreement(results(model, loaded(batch), len(batch)), ra.evaluate(model, params, batch), "loaded")


def test_a_file_without_the_code_for_the_device_is_refused(one, tmp_path, monkeypatch):
    _, _, fn = one
    parts = replace(fn._parts, kernel=replace(fn._parts.kernel, cubin=None))
    monkeypatch.setattr(fn, "_parts", parts)
    fn.save(tmp_path / "m.cortex")
    with pytest.raises(DataError, match="compiled code is not what its description says"):
        cortex.load(tmp_path / "m.cortex")


def test_the_cache_has_it_by_its_target(cache_dir, monkeypatch):
    monkeypatch.setattr(kernel_cache, "changed_since_import", lambda packages: False)
    model = model_of("tree_fc")
    params = model.init_params(seed=0)
    fn = cortex.compile(model, params, target=TARGET)
    monkeypatch.setattr(nvcc, "find_nvcc", lambda: None)
    again = cortex.compile(model, params, target=TARGET)
    assert again._parts.kernel.cubin == fn._parts.kernel.cubin
    for other in ("cuda -arch=sm_80", TARGET.replace("=3", "=2")):
        with pytest.raises(UserError, match="no CUDA compiler is here"):
            cortex.compile(model, params, target=other)


def test_weights_that_do_not_fit_stay_in_the_devices_memory():
    model = model_of("tree_lstm")
    grid = grid_for(f"{TARGET} -max_shared_memory_per_block=120")
    steps = run_passes(default_schedule(model).lower(), passes_for(1, grid))
    program = next(step for step in steps if step.name == "default_schedule")
    allocated = [stmt.buffer for stmt in statements(program.program.kernel) if isinstance(stmt, Alloc)]
    assert {b.name for b in allocated if b.scope is MemoryScope.SHARED} == {"U_f_chip", "U_o_chip"}
    assert "# not on chip: U_i, of which a block has 48 bytes, with 24 left" in program.notes


def test_without_a_device_a_call_says_so(one, monkeypatch):
    monkeypatch.setattr(driver, "LIBRARY", "libno-such-driver.so.1")
    driver.the_driver.cache_clear()
    fn = one[2].with_params(one[1])
    with pytest.raises(UserError) as error:
        fn(((1, 2), 3))
    assert re.fullmatch(
        "no GPU to run a kernel on: the CUDA driver is not here\n"
        "  because: libno-such-driver.so.1: cannot open shared object file.*\n"
        "  fix: call it on a machine with a GPU and its driver, or compile for this one: target='cpu'",
        str(error.value),
    )


def test_what_is_wrong_with_a_structure_is_said_before_a_device_is_asked_for(one):
    with pytest.raises(DataError, match="1 child where an inner node has 2 children"):
        one[2](((1,), 2))


def test_stages_that_there_are_not(one):
    with pytest.raises(UserError) as error:
        one[2].show("tir")
    assert str(error.value) == (
        "show: there is no 'tir' of a kernel for a GPU\n"
        "  because: its source is generated from the loops themselves\n"
        '  fix: show("cuda"), or show("loops")'
    )
    model = model_of("tree_fc")
    fn = cortex.compile(model, model.init_params(seed=0), target="llvm -mcpu=x86-64")
    with pytest.raises(UserError) as error:
        fn.show("cuda")
    assert str(error.value) == (
        "show: there is no 'cuda' of this function, which is for 'llvm -mcpu=x86-64'\n"
        '  fix: compile it with target="cuda -arch=sm_90", which needs no GPU'
    )


def test_nvcc_that_is_not_there_or_refuses(one, monkeypatch):
    source = one[2].show("cuda")
    with pytest.raises(UserError) as error:
        nvcc.cubin(source, "sm_12")
    assert str(error.value).startswith(
        "compile: nvcc does not compile the kernel for 'sm_12'\n  because: nvcc fatal"
    )
    monkeypatch.setattr(nvcc, "find_nvcc", lambda: None)
    with pytest.raises(UserError) as error:
        nvcc.cubin(source, "sm_90")
    assert str(error.value) == (
        "compile: no CUDA compiler is here\n"
        "  because: nvcc is neither on the PATH, nor under CUDA_HOME, nor installed as a Python package\n"
        "  fix: pip install nvidia-cuda-nvcc, which needs no GPU, or compile for this machine: target='cpu'"
    )


def test_a_number_in_the_target_that_is_none():
    model = model_of("tree_fc")
    with pytest.raises(UserError) as error:
        cortex.compile(model, model.init_params(seed=0), target="cuda -multiprocessors=many")
    assert (
        str(error.value)
        == "target: -multiprocessors=many in 'cuda -multiprocessors=many' is no number from 1 up"
    )


def test_a_recursion_without_batches_is_refused():
    model = model_of("tree_fc")
    with pytest.raises(ScheduleError) as error:
        cortex.compile(ra.Schedule(model), model.init_params(seed=0), target=TARGET)
    assert "distribute_over_blocks: cannot distribute the kernel over blocks" in str(error.value)
