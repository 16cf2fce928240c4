"""Help, and what commands do about errors."""

import subprocess
import sys

import click
import pytest

from cortex.cli import commands
from cortex.cli.failure import reported
from ragged.errors import DataError, InternalError


@pytest.mark.parametrize("name", ["bisect", "demo", "doctor", "explain", "run", "show", "tc", "tune"])
def test_every_command_has_help_and_json(cortex, name):
    result = cortex(name, "--help")
    assert result.exit_code == 0
    assert "--json" in result.stdout and "--help" in result.stdout


def test_help_lists_the_commands(cortex):
    result = cortex("--help")
    assert result.exit_code == 0
    assert [
        line.split()[0] for line in result.stdout.partition("Commands:")[2].split("\n") if line.strip()
    ] == [
        "bisect",
        "demo",
        "doctor",
        "explain",
        "run",
        "show",
        "tc",
        "tune",
    ]


def test_an_unknown_command_is_a_usage_error(cortex):
    result = cortex("dmeo")
    assert result.exit_code == 2
    assert "No such command 'dmeo'" in result.stderr


def test_the_module_is_the_command():
    process = subprocess.run(
        [sys.executable, "-m", "cortex.cli", "--help"], capture_output=True, text=True, check=True
    )
    assert process.stdout.startswith("Usage: cortex ")


def test_a_users_error_is_its_message_and_status_2(cortex, monkeypatch):
    @click.command()
    def failing():
        raise DataError("read: the file is short", because="3 of 4 rows", fix="write it again")

    monkeypatch.setitem(commands._COMMANDS, "failing", lambda: failing)
    result = cortex("failing")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == "Error: read: the file is short\n  because: 3 of 4 rows\n  fix: write it again\n"


def test_a_module_that_is_missing_sends_to_the_doctor(cortex, monkeypatch):
    def load():
        raise ImportError("no such extension")

    monkeypatch.setitem(commands._COMMANDS, "failing", load)
    result = cortex("failing")
    assert result.exit_code == 2
    assert result.stderr == "Error: no such extension\n  fix: `cortex doctor` says what is missing\n"


def test_a_file_that_the_system_refuses_is_named(tmp_path):
    with pytest.raises(click.ClickException, match=r"no_such_folder.*No such file"), reported():
        (tmp_path / "no_such_folder" / "out").open("wb")


@pytest.mark.parametrize("error", [InternalError("ours"), OSError("no file"), ValueError("ours")])
def test_a_fault_of_ours_keeps_its_traceback(error):
    with pytest.raises(type(error)), reported():
        raise error
