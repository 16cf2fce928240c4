"""Saved functions on the command line: a file in the place of a model's name."""

from __future__ import annotations

from pathlib import Path

import click

from cortex.cli.library import MODEL
from cortex.cli.trees import read_trees
from cortex.compiler import RecursiveFunction, load
from cortex.linearize import Node
from ragged.errors import DataError


def model_or_file(ctx: click.Context, param: click.Parameter, value: str) -> str | Path:
    """Return, for an argument of a command, a model of the library by its name, or the path of a file that is there."""
    path = Path(value)
    return path if value not in MODEL.choices and path.is_file() else str(MODEL.convert(value, param, ctx))


def load_with_trees(path: Path, trees: Path) -> tuple[RecursiveFunction, list[Node]]:
    """Return a saved function and the trees of a file, their words numbered by its vocabulary.

    Raises `DataError` for a function without a vocabulary.
    """
    fn = load(path)
    if fn.vocab is None:
        raise DataError(
            f"{path}: the function was compiled without a vocabulary",
            because="the words of a file have numbers only by one",
            fix="compile it with vocab=",
        )
    return fn, read_trees(trees, fn.vocab)[0]
