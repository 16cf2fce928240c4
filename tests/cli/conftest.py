"""The command as its users call it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cortex.cli import main

TREES = "(3 (2 The) (4 (3 fine) (2 film)))\n(1 (2 a) (1 bore))\n(2 (2 (2 The) (2 film)) (2 (2 a) (2 film)))\n"


@pytest.fixture
def cortex() -> Callable[..., Result]:
    """`cortex("demo", "--json")` runs the command in this process and returns its status and what it printed."""
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def cortex_json(cortex) -> Callable[..., dict]:
    """The same with --json, for commands that succeed: returns the document, the only thing on stdout."""

    def run(*arguments: object) -> dict:
        result = cortex(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return parsed(result)

    return run


def parsed(result: Result) -> dict:
    """Return the document on stdout as strict JSON: no NaN, no Infinity."""
    return json.loads(result.stdout, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.fixture
def trees(tmp_path) -> Path:
    """A file of three binary trees."""
    path = tmp_path / "trees.txt"
    path.write_text(TREES, encoding="utf-8")
    return path
