"""From an object file to a library, with whatever is on the path."""

from __future__ import annotations

import shutil

import pytest

from ragged.codegen import link as module
from ragged.codegen.build import generate
from ragged.codegen.elf import defined_symbols
from ragged.codegen.link import link
from ragged.ir.parser import parse

PROGRAM = """
program("p")
n: input()
x: output(float32[n])
with kernel:
    for i in serial(n):
        x[i] = 2.0
"""


@pytest.fixture(scope="module")
def objects():
    return generate(parse(PROGRAM)).object_code()


def path_with(folder, monkeypatch, *names):
    """Let programs of these names be all that is found; a name without a text is this machine's."""
    folder.mkdir()
    for name, text in names:
        if text is None:
            (folder / name).symlink_to(shutil.which(name))
        else:
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
    monkeypatch.setattr(
        shutil, "which", lambda name: str(folder / name) if (folder / name).exists() else None
    )


def test_the_same_objects_make_the_same_library(objects):
    code = link(objects)
    assert code is not None and code == link(objects)
    assert "__tvm_ffi_p_kernel" in defined_symbols(code)


@pytest.mark.parametrize("linker", ["ld", "cc", "gcc"])
def test_one_linker_is_enough(objects, linker, tmp_path, monkeypatch):
    if shutil.which(linker) is None:
        linker = "cc"  # what the extension was built with
    path_with(tmp_path / "bin", monkeypatch, (linker, None))
    code = link(objects)
    assert code is not None and "__tvm_ffi_p_kernel" in defined_symbols(code)


def test_a_linker_that_fails_is_passed_over(objects, tmp_path, monkeypatch):
    broken = "#!/bin/sh\necho no >&2; exit 1\n"
    silent = "#!/bin/sh\nexit 0\n"
    path_with(
        tmp_path / "bin",
        monkeypatch,
        ("ld", broken),
        ("ld.lld", silent),
        ("ld.gold", "no program"),
        ("cc", None),
    )
    assert link(objects) is not None
    path_with(tmp_path / "none", monkeypatch, ("ld", broken), ("cc", silent))
    assert link(objects) is None


def test_a_linker_that_hangs_is_given_up(objects, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.2)
    path_with(tmp_path / "bin", monkeypatch, ("ld", "#!/bin/sh\nexec sleep 20\n"))
    assert link(objects) is None


def test_no_linker(objects, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert link(objects) is None
    assert link(b"no object file") is None
