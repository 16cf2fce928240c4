"""The key of a kernel in the cache says all that the kernel depends on, and nothing else."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from ragged.codegen.target_features import parse_target
from ragged.compiled import key as module
from ragged.compiled.key import Recipe, changed_since_import, compiler_identity, key_of, locations
from ragged.errors import UserError
from ragged.ir.expr import Dim
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.stmt import For
from ragged.ir.walk import statements
from ragged.runtime import processor

TEXT = """
program("p")
n: input()
word: payload(i < n) = facts(0 <= word(i) < 5)
table: parameter(float32[5])
y: output(float32[n], dims=(rows,))
with kernel:
    for i in parallel(n, rows):
        y[i] = table[word(i)]
"""
PRELUDE = 'program("q")\nt: output(int32[1])\nwith kernel:\n    t[0] = int32(7)\n'


def recipe(text: str = TEXT, **changes) -> Recipe:
    return replace(Recipe((parse(text),), "cpu", 2, "a pipeline"), **changes)


def test_equal_programs_have_one_key():
    assert key_of(recipe()) == key_of(recipe())
    here, there = recipe(), recipe("\n\n" + TEXT)
    assert locations(here.programs) != locations(there.programs)
    assert key_of(here) == key_of(there)


def test_which_parts_stand_in_one_line_makes_a_difference():
    program, one_line = parse(TEXT), parse(TEXT)
    for stage in one_line.stages:
        for stmt in statements(stage.body):
            object.__setattr__(stmt, "at", None)
    assert module._pattern(locations([program])) != module._pattern(locations([one_line]))
    assert key_of(recipe()) != key_of(recipe(programs=(one_line,)))


def test_everything_else_does(monkeypatch):
    program = parse(TEXT)
    others = [
        recipe(),
        recipe(threads=1),
        recipe(pipeline="another"),
        recipe(programs=(program, parse(PRELUDE))),
        recipe(programs=(program, parse(PRELUDE.replace("7", "8")))),
        recipe(programs=(replace(program, name="other"),)),
        recipe(programs=(replace(program, facts=()),)),
        recipe(target="llvm -mcpu=haswell"),
        recipe(target="llvm -mcpu=haswell -mattr=+avx512f"),
    ]
    keys = [key_of(each) for each in others]
    for name, value in (
        ("compiler_identity", lambda packages: "another compiler"),
        ("this_machine", lambda: "another machine"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, value)
            keys.append(key_of(recipe()))
    with monkeypatch.context() as patched:
        patched.setattr(processor, "identity", lambda: "another processor")
        keys.append(key_of(recipe()))
    assert len(set(keys)) == len(keys)


def dims_of(program: Program) -> list[Dim]:
    loops = (stmt for stmt in statements(program.kernel) if isinstance(stmt, For))
    return [loop.dim for loop in loops if loop.dim is not None]


def test_dims_that_passes_know():
    program = parse(TEXT)
    (dim,) = dims_of(program)
    assert key_of(recipe(programs=(program,), dims={dim: "known"})) != key_of(recipe(programs=(program,)))


def test_dims_of_one_name_are_not_taken_for_one():
    """Passes know a dim by identity: a buffer's is its loop's, or another that is called the same."""
    one, two = parse(TEXT), parse(TEXT)
    (loop,) = (stmt for stmt in statements(two.kernel) if isinstance(stmt, For))
    object.__setattr__(loop, "dim", Dim(loop.dim.name))
    assert module._dims(recipe(programs=(one,))) == [0, 0]
    assert module._dims(recipe(programs=(two,))) == [0, 1]


def test_names_that_the_text_had_to_number():
    text = (
        'program("p")\nh: output(float32[1])\nh_1: parameter(float32[1])\nwith kernel:\n    h[0] = h_1[0]\n'
    )
    told, numbered = parse(text), parse(text)
    object.__setattr__(numbered.buffers[1], "name", "h")
    assert to_text(told) == to_text(numbered) == text.replace("\nh:", "\n\nh:").replace("\nwith", "\n\nwith")
    assert key_of(recipe(programs=(told,))) != key_of(recipe(programs=(numbered,)))


def test_a_target_has_one_key_however_it_is_written():
    ways = ["llvm -mcpu=haswell", {"kind": "llvm", "mcpu": "haswell"}, parse_target("llvm -mcpu=haswell")]
    assert len({key_of(recipe(target=way)) for way in ways}) == 1
    with pytest.raises(UserError, match="target: no target 'abacus'"):
        key_of(recipe(target="abacus"))


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Sources and tools of the test's own in place of the real ones."""
    for path in ("sources/a.py", "sources/inner/b.py", "sources/notes.txt", "tool/lib/c.so"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    for folder in ("sources", "tool"):
        (tmp_path / folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_TOOLS", ("tool",))
    return tmp_path


def identity() -> str:
    return compiler_identity.__wrapped__(("sources",))


def test_the_compiler_is_known_by_its_sources_and_libraries(packages):
    seen = [identity()]
    (packages / "sources" / "notes.txt").write_text("changed")
    (packages / "sources" / "__pycache__").mkdir()
    (packages / "sources" / "__pycache__" / "a.py").touch()
    assert identity() == seen[0]
    os.utime(packages / "sources" / "a.py", (1, 1))
    seen.append(identity())
    (packages / "sources" / "inner" / "b.py").write_text("longer than it was before")
    os.utime(packages / "sources" / "inner" / "b.py", (1, 1))
    seen.append(identity())
    (packages / "sources" / "inner" / "b.py").rename(packages / "sources" / "inner" / "d.py")
    seen.append(identity())
    os.utime(packages / "tool" / "lib" / "c.so", (1, 1))
    seen.append(identity())
    assert len(set(seen)) == 5


def test_no_key_without_sources(packages, monkeypatch):
    monkeypatch.setattr(module, "_TOOLS", ("nothing_of_this_name",))
    with pytest.raises(OSError, match="package 'nothing_of_this_name' stands in no folder"):
        identity()


def test_a_source_that_is_written_while_it_is_used(packages, monkeypatch):
    monkeypatch.setattr(module, "_BEGUN", time.time_ns() + 10**9)
    assert not changed_since_import(("sources",))
    later = module._BEGUN + 1
    os.utime(packages / "sources" / "inner" / "b.py", ns=(later, later))
    assert changed_since_import(("sources",))
