"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

INPUT_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


class _OutputFile(click.Path):
    """The path of a file in a folder that exists: a command that runs for long does not find out at its end."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"Directory '{path.parent}' does not exist.", param, ctx)
        return path


OUTPUT_FILE = _OutputFile(dir_okay=False, writable=True, path_type=Path)

# What a table is laid out for where nothing says how wide the page is.
_WIDTH = 100


def json_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option --json, as its argument `as_json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document on stdout, and nothing else there."
    )(command)


def print_json(document: Mapping[str, object]) -> None:
    """Print `document` as JSON. A float that JSON cannot hold (inf, nan) becomes null."""
    click.echo(json.dumps(_finite(document), indent=2, allow_nan=False, ensure_ascii=False))


def print_table(headings: Iterable[str], rows: Iterable[Iterable[str]], *, text: Iterable[str] = ()) -> None:
    """Print a table. Columns of the headings in `text` are set to the left, the others, numbers, to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    left = set(text)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_text(text: str) -> None:
    """Print a paragraph, wrapped at the width of the page."""
    console().print(text)


def console(*, error: bool = False) -> Console:
    """Return a console on stdout, or stderr, that prints text as it is: brackets are no markup."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else _WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {name: _finite(item) for name, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def counted(number: int, what: str) -> str:
    """Return `1 tree`, `2,000 trees`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
