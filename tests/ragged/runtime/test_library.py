"""Machine code that was linked before, loaded without tvm_ffi's Python package."""

from __future__ import annotations

import gc
import subprocess
import sys
from ctypes import c_void_p
from pathlib import Path

import numpy as np
import pytest

from ragged.codegen.build import generate
from ragged.codegen.link import link
from ragged.errors import DataError
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.runtime.call import Caller
from ragged.runtime.library import Library

PROGRAM = """
program("p")
n: input()
x: payload(float32[n], align=4)
y: output(float32[n])
with kernel:
    for i in serial(n):
        check(x[i] < 100.0, "x[{0}] = {1}", i, x[i])
        y[i] = tanh(x[i])
"""


@pytest.fixture(scope="module")
def made():
    generated = generate(parse(PROGRAM))
    return generated.interface(), link(generated.object_code())


def test_a_call(made):
    interface, code = made
    x, y, status = np.linspace(-1, 1, 9, dtype=np.float32), np.empty(9, np.float32), np.zeros(4, np.int64)
    function = Library(code).function(interface.stages[0].function)
    gc.collect()  # the function keeps what it needs
    function(9, *(c_void_p(array.ctypes.data) for array in (x, y, status)), 0, 1)
    np.testing.assert_allclose(y, np.tanh(x), rtol=1e-6)


def test_entries_of_a_library_are_called_as_others_are(made):
    interface, code = made
    entry = interface.entries(Library(code).function)[StageKind.KERNEL]
    x = np.ones(5, np.float32)
    for _ in range(3):
        assert Caller([entry], {})({"n": 5, "x": x})["y"].tolist() == [np.tanh(np.float32(1))] * 5
    with pytest.raises(DataError, match=r"x\[2\] = 100.0"):
        Caller([entry], {})({"n": 3, "x": np.array([0, 1, 100], np.float32)})
    with pytest.raises(DataError, match=r"x\[1\] = 200.0"):
        entry({"n": 2, "x": np.array([0, 200], np.float32), "y": np.empty(2, np.float32)})


def mapped() -> int:
    return Path("/proc/self/maps").read_text().count("code.so")


def test_a_library_goes_with_its_last_function(made):
    interface, code = made
    gc.collect()
    before = mapped()
    functions = [Library(code).function(interface.stages[0].function) for _ in range(3)]
    assert mapped() > before
    del functions
    gc.collect()
    assert mapped() == before


def test_what_cannot_be_loaded(made):
    _, code = made
    with pytest.raises(DataError) as refused:
        Library(b"no library")
    assert str(refused.value) == (
        "compiled code cannot be loaded\n"
        "  because: code.so: file too short\n"
        "  fix: if the folder for temporary files may not hold programs, set TMPDIR to one that may"
    )
    with pytest.raises(DataError, match="compiled code has no function 'absent'"):
        Library(code).function("absent")


def test_neither_tvm_nor_torch_is_imported(made, tmp_path):
    interface, code = made
    (tmp_path / "code").write_bytes(code)
    script = f"""
import sys
from pathlib import Path
from ragged.runtime.library import Library
Library(Path({str(tmp_path / "code")!r}).read_bytes()).function({interface.stages[0].function!r})
assert not {{"tvm", "tvm_ffi", "torch", "z3"}} & set(sys.modules)
maps = Path("/proc/self/maps").read_text()
assert "libtvm_ffi" in maps and "libtvm_compiler" not in maps and "libtvm_runtime" not in maps
import tvm_ffi  # the other way to it, afterwards
assert tvm_ffi.load_module is not None
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
