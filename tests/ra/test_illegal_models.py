"""Each program in illegal/ is refused with exactly the message that stands at its end."""

import ast
import inspect
import runpy
from pathlib import Path

import pytest

from cortex.ra import check
from ragged.errors import ModelError

PROGRAMS = sorted((Path(__file__).parent / "illegal").glob("*.py"))


def expected_message(path: Path) -> str:
    last = ast.parse(path.read_text()).body[-1]
    assert isinstance(last, ast.Assign)
    return str(ast.literal_eval(last.value))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_is_refused_with_its_message(path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        runpy.run_path(str(path))
    assert f"ModelError: {caught.value}\n" == expected_message(path)


def raised_by(path: Path) -> set[str]:
    try:
        runpy.run_path(str(path))
    except ModelError as error:
        trace = error.__traceback__
        names = set()
        while trace is not None:
            names.add(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        return names
    return set()


def test_every_check_has_a_program_that_it_refuses() -> None:
    raised = set().union(*(raised_by(path) for path in PROGRAMS))
    assert {rule.__name__ for rule in check.CHECKS} <= raised


def test_every_check_says_what_it_checks() -> None:
    assert all(inspect.getdoc(rule) for rule in check.CHECKS)
