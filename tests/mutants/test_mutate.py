"""The mutants of a file: what is changed, what is left, and that each is a program."""

import ast
from pathlib import Path

import pytest

from ragged.transform.loops import split
from tests.mutants.__main__ import passes
from tests.mutants.mutate import mutants

SOURCE = '''\
def f(x: int | None, *, strict: bool = True) -> int | None:
    """One of any."""
    check(x)
    if not all(y < 2 for y in (x, 1)) and BinaryOp.ADD:
        return x - 1
    return f"{x + 1}"
'''


def test_a_guard_of_a_case_is_dropped():
    found = list(mutants("match x:\n    case int() if x == y:\n        f()\n"))
    assert (2, "x == y", "True") in {(each.line, each.before, each.after) for each in found}


def test_the_mutants_of_a_function():
    found = {(m.line, m.after) for m in mutants(SOURCE)}
    assert found == {
        (1, "False"),
        (3, "pass"),
        (4, "not all((y < 2 for y in (x, 1))) or BinaryOp.ADD"),
        (4, "all((y < 2 for y in (x, 1)))"),
        (4, "any((y < 2 for y in (x, 1)))"),
        (4, "y <= 2"),
        (4, "3"),
        (4, "(1,)"),
        (4, "(x,)"),
        (4, "2"),
        (4, "BinaryOp.SUB"),
        (5, "x + 1"),
        (5, "2"),
    }


def test_each_mutant_is_another_program():
    source = Path(split.__file__).read_text(encoding="utf-8")
    texts = [mutant.text for mutant in mutants(source)]
    assert len(set(texts)) == len(texts) >= 30 and source not in texts
    for text in texts:
        ast.parse(text)


def test_tests_that_do_not_run_kill_nothing(tmp_path):
    fails, whole, broken = (tmp_path / f"test_{name}.py" for name in ("fails", "whole", "broken"))
    fails.write_text("def test_it():\n    assert False\n")
    whole.write_text("def test_it():\n    pass\n")
    broken.write_text("import no_such_module\n")
    assert passes([str(whole)], 60)
    assert not passes([str(fails)], 60) and not passes([str(broken)], 60)
    with pytest.raises(RuntimeError, match="pytest ended with 4"):
        passes([str(tmp_path / "test_missing.py")], 60)
