"""How far a slow part of a command is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cortex.cli.report import console


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show `what`, how many of `total` are done and about how long the rest takes, on stderr, if that is a terminal.

    The block calls what it is given once for each. `total` is None where it is not known.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = sys.stderr.isatty()
    with Progress(*columns, console=console(error=True), transient=True, disable=not shown) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
