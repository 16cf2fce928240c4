"""The key of a kernel in the cache says all that the kernel depends on, and nothing else."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from cortex import models, ra
from cortex.compiler import key as module
from cortex.compiler.generate import lowering_steps
from cortex.compiler.key import changed_since_import, compiler_identity, key_of, locations
from cortex.ilir.structure import BATCH, CHILD, NODE
from cortex.ra.schedule import default_schedule
from ragged.codegen.target import parse_target, read_target
from ragged.ir.parser import parse
from ragged.ir.printer import to_text
from ragged.ir.program import Program
from ragged.ir.stmt import For
from ragged.ir.walk import statements
from ragged.runtime import processor

MODELS = {
    "tree_sum": models.tree_sum(hidden=16, vocab=50),
    "tree_fc": models.tree_fc(hidden=24, vocab=50),
    "tree_lstm": models.tree_lstm(hidden=16, embed=8, vocab=50),
    "mv_rnn": models.mv_rnn(hidden=6, vocab=50),
}


@pytest.fixture(params=MODELS)
def program(request) -> Program:
    return default_schedule(MODELS[request.param]).lower()


def reparsed(program: Program) -> Program:
    """Return the program that the text is of, with the dims that passes know by identity."""
    again = parse(to_text(program))
    known = {dim.name: dim for dim in (NODE, CHILD, BATCH)}
    symbols = zip((*again.functions, *again.buffers), (*program.functions, *program.buffers), strict=True)
    for symbol, own in symbols:
        object.__setattr__(symbol, "name", own.name)
    for buffer in again.buffers:
        object.__setattr__(buffer, "dims", tuple(dim and known.get(dim.name, dim) for dim in buffer.dims))
    for stage in again.stages:
        for stmt in statements(stage.body):
            if isinstance(stmt, For) and stmt.dim is not None:
                object.__setattr__(stmt, "dim", known.get(stmt.dim.name, stmt.dim))
    return again


@pytest.mark.parametrize("threads", [1, 2])
def test_what_the_key_holds_of_a_program_determines_the_code(program, threads):
    texts = [to_text(lowering_steps(each, threads)[-1].program) for each in (program, reparsed(program))]
    assert texts[0] == texts[1]


def test_the_key_of_equal_programs(program):
    model = next(
        model for model in MODELS.values() if to_text(default_schedule(model).lower()) == to_text(program)
    )
    assert key_of(program, None, 2) == key_of(default_schedule(model).lower(), None, 2)


def listing(line: int = 1, name: str = "h"):
    """Return a model that differs in nothing but the line that it stands in."""
    text = "\n" * line + (
        "t = ra.input_tensor('t', (9, 4)); word = ra.node_input('word', dtype='int32')\n"
        "h_ph = ra.placeholder((ra.N, 4))\n"
        "leaf = ra.compute((ra.N, 4), lambda n, i: t[word[n], i])\n"
        "inner = ra.compute((ra.N, 4), lambda n, i: ra.tanh(h_ph[n.left, i] + h_ph[n.right, i]))\n"
        "h = ra.if_then_else((ra.N, 4), lambda n, i: (ra.isleaf(n), leaf, inner))\n"
        f"model = ra.recursion_op({{{name!r}: (h_ph, h)}}, structure=ra.Tree(max_children=2))\n"
    )
    names = {"ra": ra, "__name__": "elsewhere"}
    exec(compile(text, f"elsewhere{line}.py", "exec"), names)
    return default_schedule(names["model"]).lower()


def test_where_a_model_stands_makes_no_difference():
    here, there = listing(1), listing(20)
    assert set(locations(here)) != set(locations(there))
    assert key_of(here, None, 2) == key_of(there, None, 2)
    assert len(locations(here)) == len(locations(there))


def test_which_parts_stand_in_one_line_does():
    program = listing()
    one_line = parse(to_text(program))
    assert module._pattern(locations(program)) != module._pattern(locations(one_line))


def test_everything_else_does(monkeypatch):
    program = listing()
    targets = [None, read_target("llvm -mcpu=haswell"), read_target("llvm -mcpu=haswell -mattr=+avx512f")]
    keys = [key_of(program, target, threads) for target in targets for threads in (1, 2)]
    keys.append(key_of(listing(name="state"), None, 2))
    keys.append(key_of(replace(program, name="other"), None, 2))
    keys.append(key_of(replace(program, facts=()), None, 2))
    for name, value in (
        ("compiler_identity", lambda: "another compiler"),
        ("this_machine", lambda: "another machine"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, value)
            keys.append(key_of(program, None, 2))
    with monkeypatch.context() as patched:
        patched.setattr(processor, "identity", lambda: "another processor")
        keys.append(key_of(program, None, 2))
    assert len(set(keys)) == len(keys)


def test_dims_that_passes_know():
    program = listing()
    known, unknown = reparsed(program), parse(to_text(program))
    assert to_text(known) == to_text(unknown)
    assert key_of(known, None, 2) != key_of(unknown, None, 2)


def test_names_that_the_text_had_to_number():
    text = (
        'program("p")\nh: output(float32[1])\nh_1: parameter(float32[1])\nwith kernel:\n    h[0] = h_1[0]\n'
    )
    told, numbered = parse(text), parse(text)
    object.__setattr__(numbered.buffers[1], "name", "h")
    assert to_text(told) == to_text(numbered) == text.replace("\nh:", "\n\nh:").replace("\nwith", "\n\nwith")
    assert key_of(told, None, 1) != key_of(numbered, None, 1)


def test_a_target_has_one_key_however_it_is_written():
    ways = ["llvm -mcpu=haswell", {"kind": "llvm", "mcpu": "haswell"}, parse_target("llvm -mcpu=haswell")]
    assert len({key_of(listing(), read_target(way), 1) for way in ways}) == 1


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Sources and tools of the test's own in place of the real ones."""
    for path in ("sources/a.py", "sources/inner/b.py", "sources/notes.txt", "tool/lib/c.so"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    for folder in ("sources", "tool"):
        (tmp_path / folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_SOURCES", ("sources",))
    monkeypatch.setattr(module, "_TOOLS", ("tool",))
    return tmp_path


def identity() -> str:
    return compiler_identity.__wrapped__()


def test_the_compiler_is_known_by_its_sources_and_libraries(packages):
    seen = [identity()]
    assert identity() == seen[0]
    (packages / "sources" / "notes.txt").write_text("changed")
    os.utime(packages / "sources" / "a.py", (1, 1))
    assert identity() == seen[0], "what a source says counts"
    (packages / "sources" / "inner" / "b.py").write_text("sources/inner/B.py")
    seen.append(identity())
    (packages / "sources" / "inner" / "b.py").rename(packages / "sources" / "inner" / "d.py")
    seen.append(identity())
    os.utime(packages / "tool" / "lib" / "c.so", (1, 1))
    seen.append(identity())
    assert len(set(seen)) == 4


def test_no_key_without_sources(packages, monkeypatch):
    monkeypatch.setattr(module, "_TOOLS", ("nothing_of_this_name",))
    with pytest.raises(OSError, match="package 'nothing_of_this_name' stands in no folder"):
        identity()


def test_a_source_that_is_written_while_it_is_used(packages, monkeypatch):
    monkeypatch.setattr(module, "_BEGUN", time.time_ns() + 10**9)
    assert not changed_since_import()
    later = module._BEGUN + 1
    os.utime(packages / "sources" / "inner" / "b.py", ns=(later, later))
    assert changed_since_import()
