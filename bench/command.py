"""What the commands have in common: lists on the command line, the page that they print on, and JSON files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rich.console import Console


def add_results(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what becomes of what was measured, and that it need not mean much."""
    parser.add_argument("--json", type=Path, help="where to write the result")
    parser.add_argument("--plot", type=Path, help="where to draw it, as PNG")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes: to see that all works, not how fast"
    )


def check_peers(parser: argparse.ArgumentParser, peers: Iterable[str], find: Callable[[str], object]) -> None:
    """End the command if there is a peer that `find` does not know: it raises `ValueError`."""
    try:
        for peer in peers:
            find(peer)
    except ValueError as error:
        parser.error(str(error))


def check_names(
    parser: argparse.ArgumentParser, kind: str, given: Iterable[str], known: Iterable[str]
) -> None:
    """End the command if one of the names is none of the known ones, of things of this kind."""
    known = tuple(known)
    for name in given:
        if name not in known:
            parser.error(f"no {kind} is called {name!r}: {', '.join(known)}")


def names(text: str) -> list[str]:
    """Return the names in "a,b"."""
    return [name for name in text.split(",") if name]


def numbers(text: str) -> list[int]:
    """Return the numbers in "1,2"."""
    return [int(number) for number in text.split(",")]


def page(width: int) -> Console:
    """Return stdout to print on: as wide as the terminal, or `width` columns where it is none."""
    return Console(width=None if sys.stdout.isatty() else width, highlight=False, markup=False)


def write_json(document: Mapping[str, object], path: Path) -> None:
    """Write a document, in which no number may be inf or nan."""
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
