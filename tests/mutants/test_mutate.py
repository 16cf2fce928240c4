"""The mutants of a file: what is changed, what is left, and that each is a program."""

import ast
import subprocess
import sys
from pathlib import Path

from ragged.transform.loops import split
from tests.mutants import __main__ as command
from tests.mutants.mutate import mutants
from tests.mutants.run import ROOT

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


def test_types_are_left_as_they_are():
    assert not list(mutants("Pair = tuple[int, str]\n"))
    assert [m.after for m in mutants("first = pairs[i, j]\n")] == ["(j,)", "(i,)"]


def test_the_lines_of_a_statement():
    source = "if (\n    x < 2\n):\n    f(\n        1,\n    )\n"
    assert {(m.line, m.statement) for m in mutants(source)} == {
        (2, range(1, 4)),
        (4, range(4, 7)),
        (5, range(4, 7)),
    }


def test_each_mutant_is_another_program():
    source = Path(split.__file__).read_text(encoding="utf-8")
    texts = [mutant.text for mutant in mutants(source)]
    assert len(set(texts)) == len(texts) >= 30 and source not in texts
    for text in texts:
        ast.parse(text)


PROGRAM = """
import sys
from tests.mutants.run import ROOT, Run, outcomes

split = ROOT / "ragged/transform/loops/split.py"
text = split.read_text(encoding="utf-8")
tests = {name: (f"{sys.argv[1]}/test_{name}.py",) for name in ("whole", "fails", "ends", "missing", "hangs", "split")}
runs = [Run(each, 1 if name == "hangs" else 60) for name, each in tests.items()]
runs += [Run(tests["split"], 60, split, text + "changed = True"), Run(tests["split"], 60, split, "no Python")]
passed = {outcome.run: outcome.passed for outcome in outcomes(runs, jobs=4)}
print(*map(passed.get, runs))
"""


def test_outcomes_of_runs(tmp_path):
    for name, body in {
        "whole": "pass",
        "fails": "assert False",
        "ends": "import os; os._exit(7)",
        "hangs": "import time; time.sleep(60)",
        "split": "from ragged.transform.loops import split; assert not hasattr(split, 'changed')",
    }.items():
        (tmp_path / f"test_{name}.py").write_text(f"def test_it():\n    {body}\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True False False False False True False False\n"


def test_the_tests_of_a_package_import_from_it():
    assert command.tests_for(ROOT / "ragged/transform/__init__.py") == (
        "tests/ragged/transform/test_every_primitive.py",
    )
