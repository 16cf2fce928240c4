"""Every primitive is exported, documented with a program before and after, tested, and drawn at random."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import ragged.transform
from ragged.transform import GROUPS
from tests.support.random_loop_steps import STEPS, UNDRAWN

PRIMITIVES = {each.__name__: each for group in GROUPS.values() for each in group}
ROOT = Path(ragged.transform.__file__).parent


def test_every_file_that_defines_a_primitive_is_in_its_group():
    for group, primitives in GROUPS.items():
        found = set()
        for path in (ROOT / group).glob("*.py"):
            functions = [
                each for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)
            ]
            if any(each.name == path.stem for each in functions):
                found.add(path.stem)
        assert found == {each.__name__ for each in primitives}, group


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_has_a_purpose_and_a_program_before_and_after(name):
    doc = inspect.getdoc(PRIMITIVES[name])
    assert doc is not None and doc.splitlines()[0].endswith((".", ":", ","))
    assert "before" in doc and "after" in doc and "Raises:" in doc


@pytest.mark.parametrize("name", PRIMITIVES)
def test_examples_call_primitives_by_their_names(name):
    called = set(re.findall(r"`(?:s\.)?(\w+)\(program\b", inspect.getdoc(PRIMITIVES[name])))
    assert called <= set(PRIMITIVES)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_has_a_test(name):
    tests = Path(__file__).parent.glob("test_*.py")
    own = Path(__file__).parent / f"test_{name}.py"
    assert own.exists() or any(f" import {name}\n" in each.read_text() for each in tests)


def test_every_primitive_is_drawn_at_random_or_has_a_reason():
    assert {each.__name__ for each in STEPS}.isdisjoint(UNDRAWN)
    assert {each.__name__ for each in STEPS} | set(UNDRAWN) == set(PRIMITIVES)
