"""The command `cortex`: finds the command that is asked for, and says what went wrong without a traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from cortex.cli.failure import reported


def _bisect() -> click.Command:
    from cortex.cli.bisect import bisect

    return bisect


def _demo() -> click.Command:
    from cortex.cli.demo import demo

    return demo


def _doctor() -> click.Command:
    from cortex.cli.doctor import doctor

    return doctor


def _explain() -> click.Command:
    from cortex.cli.explain import explain

    return explain


def _run() -> click.Command:
    from cortex.cli.run import run

    return run


def _show() -> click.Command:
    from cortex.cli.show import show

    return show


def _tc() -> click.Command:
    from cortex.cli.comprehensions import command

    return command


def _tune() -> click.Command:
    from cortex.cli.tune import command

    return command


# A command is imported when it is asked for: `doctor` has to run where the compiler cannot be imported.
_COMMANDS: dict[str, Callable[[], click.Command]] = {
    "bisect": _bisect,
    "demo": _demo,
    "doctor": _doctor,
    "explain": _explain,
    "run": _run,
    "show": _show,
    "tc": _tc,
    "tune": _tune,
}


class Commands(click.Group):
    """The commands of `_COMMANDS`. An error that the user can mend is printed as its message; the status is 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None."""
        load = _COMMANDS.get(cmd_name)
        if load is None:
            return None
        with reported():
            return load()

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        with reported():
            return super().invoke(ctx)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cortex-compiler", prog_name="cortex")
def main() -> None:
    """A compiler for models that recurse over trees, DAGs and sequences."""
