"""Errors as a command prints them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ragged.errors import UserError


class Failure(click.ClickException):
    """What ends a command with its message on stderr, and status 2."""

    exit_code = 2


@contextmanager
def reported() -> Iterator[None]:
    """Turn what the user can mend into a `Failure`; faults of ours keep their traceback.

    That is every `UserError`, a file that the system refuses, and a module that cannot be imported.
    """
    try:
        yield
    except UserError as error:
        raise Failure(_without_clicks_place(error)) from error
    except ImportError as error:
        raise Failure(f"{error}\n  fix: `cortex doctor` says what is missing") from error
    except OSError as error:
        if error.filename is None:
            raise
        raise Failure(f"{error.filename}: {error.strerror}") from error


def _without_clicks_place(error: UserError) -> str:
    """Return the message, without the line of click that called the command: the user has no line of code there."""
    at = error.at
    if at is None or not Path(at.file).is_relative_to(Path(click.__file__).parent):
        return str(error)
    return str(error).replace(f"\n  at {at}", "", 1)
