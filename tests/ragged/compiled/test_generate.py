"""A kernel and its preludes in one library: generated together, cached with the places of their checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ragged.codegen.build import generate_together
from ragged.compiled import kernel_cache
from ragged.compiled.generate import generate_kernel, list_code
from ragged.compiled.kernel import LoadedKernel
from ragged.compiled.kernel_cache import KernelCache, find_or_make
from ragged.compiled.key import Recipe
from ragged.errors import DataError, InternalError, ModelError
from ragged.ir.parser import parse
from ragged.ir.program import StageKind
from ragged.passes.insert_checks import insert_checks
from ragged.passes.pipeline import Pass
from ragged.runtime.call import Caller

KERNEL = """
program("p")
n: input()
word: payload(i < n)
table: parameter(float32[5])
y: output(float32[n])
with kernel:
    for i in parallel(n):
        y[i] = table[word(i)]
"""
PRELUDE = """
program("q")
n: input()
t: output(int32[1])
with kernel:
    check(n < 7, "{0} is too many", n, label=many)
    t[0] = int32(n + 1)
"""
PASSES = (Pass(insert_checks, "so that there are checks"),)


def recipe(file: str = "here.py", lines: int = 0) -> Recipe:
    texts = ("\n" * lines + text for text in (KERNEL, PRELUDE))
    return Recipe(tuple(parse(text, file=file) for text in texts), "cpu", 1, "tests")


def made(asked: Recipe) -> LoadedKernel:
    return generate_kernel(asked.programs, PASSES, asked.target, lambda steps: {"steps": str(len(steps))})


def results(kernel: LoadedKernel, n: int) -> tuple[int, list[float]]:
    (prelude,) = kernel.preludes
    (table,) = Caller(list(prelude.values()), {})({"n": n}).values()
    call = Caller(kernel.call_stages, {"table": np.arange(5, dtype=np.float32)})
    return int(table[0]), call({"n": n, "word": np.arange(n, dtype=np.int32)})["y"].tolist()


def test_a_kernel_and_its_prelude():
    kernel = made(recipe())
    assert results(kernel, 3) == (4, [0, 1, 2])
    with pytest.raises(DataError, match="7 is too many"):
        results(kernel, 7)
    with pytest.raises(DataError, match=r"at here\.py:9"):
        results(kernel, 6)
    assert kernel.kernel.listings == {"steps": "2"}
    assert [text.splitlines()[0] for text in kernel.kernel.programs] == ['program("p")', 'program("q")']
    assert "def p_kernel(" in list_code(kernel.kernel, kernel.code, "tir")
    assert "q_kernel" not in list_code(kernel.kernel, kernel.code, "asm")


def test_programs_of_one_name():
    program = parse(PRELUDE)
    with pytest.raises(InternalError, match="stages of one name: q_kernel, q_kernel"):
        generate_together((program, program))
    assert len(generate_together((program, replace(program, name="other")))) == 2


def test_every_check_says_where_its_own_program_comes_from(cache_dir, monkeypatch):
    """The same programs from two files: one entry, and each finds its own lines in it, preludes as well."""
    monkeypatch.setattr(kernel_cache, "changed_since_import", lambda packages: False)
    compiled = []

    def make(asked: Recipe) -> LoadedKernel:
        compiled.append(asked)
        return made(asked)

    here, there = recipe(), recipe("there.py", 20)
    first = find_or_make(here, lambda: make(here), cache=True)
    second = find_or_make(there, lambda: make(there), cache=True)
    assert compiled == [here] and KernelCache(cache_dir, there).find() is not None
    assert results(first, 4) == results(second, 4) == (5, [0, 1, 2, 3])
    places = []
    for kernel in (first, second):
        (prelude,) = kernel.preludes
        entries = (kernel.entries[StageKind.KERNEL], prelude[StageKind.KERNEL])
        places.append([{str(site.at) for site in entry.checks} for entry in entries])
    assert places == [[{"here.py:9"}, {"here.py:6"}], [{"there.py:29"}, {"there.py:26"}]]


def test_statements_that_are_nested_too_deeply():
    def endless(program):
        return endless(program)

    with pytest.raises(ModelError, match="'p' cannot be compiled: something is nested too deeply") as caught:
        generate_kernel([parse(KERNEL)], [Pass(endless, "never ends")], "cpu", lambda steps: {})
    assert "fix: fewer operators in a node" in str(caught.value)
