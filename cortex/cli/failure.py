"""Errors as a command prints them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
        raise Failure(str(error)) from error
    except ImportError as error:
        raise Failure(f"{error}\n  fix: `cortex doctor` says what is missing") from error
    except OSError as error:
        if error.filename is None:
            raise
        raise Failure(f"{error.filename}: {error.strerror}") from error
