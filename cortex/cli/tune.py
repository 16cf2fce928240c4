"""`cortex tune`: a measured search over options of the schedules of a library model."""

from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path

import click

from cortex.cli.library import MODEL, SIZE, build, vocabulary_for, width_options, with_defaults
from cortex.cli.progress import counting
from cortex.cli.report import json_option, print_json, print_table, print_text
from cortex.cli.trees import read_trees, trees_option
from cortex.compiler.options import DEFAULT, RecursionOptions
from cortex.tuning import Tuning, tune
from cortex.tuning.space import default_space
from ragged.tuning.result import HEADINGS
from ragged.tuning.space import Grid, Space
from ragged.tuning.strategies import STRATEGIES


def _read_values(
    ctx: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> dict[str, list[object]]:
    """Return the values of each NAME=VALUE,VALUE, which are written as in Python."""
    grid: dict[str, list[object]] = {}
    for text in given:
        name, _, values = text.partition("=")
        try:
            grid[name] = list(ast.literal_eval(f"({values},)"))
        except (SyntaxError, ValueError):
            raise click.BadParameter(
                f"{text!r} is not NAME=VALUE,VALUE: reduction_unroll=2,4 or tile=(6,4),(8,2)"
            ) from None
    return grid


@click.command("tune")
@click.argument("name", metavar="MODEL", type=MODEL)
@trees_option
@click.option(
    "--batch", type=SIZE, default=10, show_default=True, help="Take the first BATCH trees of the file."
)
@width_options
@click.option(
    "--space",
    "space",
    multiple=True,
    callback=_read_values,
    help="NAME=VALUE,VALUE: try these values of an option, and of no other that is not named so; written as in Python.",
)
@click.option(
    "--strategy",
    type=click.Choice(list(STRATEGIES)),
    default="one by one",
    show_default=True,
    help="Which points are tried: the values of one option after another, all combinations, or a part of them.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="The most that the search takes.",
)
@click.option(
    "--records",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the results in this file, and go on from those that it has.",
)
@click.option("--threads", type=SIZE, help="The most threads that a call may use.  [the cores]")
@json_option
def command(
    name: str,
    path: Path,
    batch: int,
    hidden: int,
    embed: int | None,
    space: dict[str, list[object]],
    strategy: str,
    seconds: float,
    records: Path | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Look for options of the schedule that make a model faster on this machine.

    Each point is compiled, has to give the bits that the default gives, and is timed in turns with it. Ctrl-C ends the
    search and keeps the best so far. docs/howto/tune.md lists the options.
    """
    trees, vocab = read_trees(path)
    options = {"embed": embed}
    model = build(name, with_defaults(name, options, hidden=hidden, vocab=len(vocab)))
    words = vocabulary_for(name, model, vocab)
    values: Grid = space or default_space(model)
    with counting(f"{name}: compiling and timing", _number_of_points(values, strategy)) as advance:
        found = tune(
            model,
            model.init_params(seed=0),
            trees[:batch],
            space=values,
            strategy=strategy,
            seconds=seconds,
            records=records,
            advance=advance,
            threads=threads,
            vocab=words,
        )
    if as_json:
        print_json({"model": name, "hidden": hidden, "trees": len(trees[:batch]), **_document(found)})
    else:
        _print(found)


def _number_of_points(space: Grid, strategy: str) -> int | None:
    """Return how many points a search tries if it has the time; None if that is all it depends on."""
    extents = Space.of(space, DEFAULT).extents
    if strategy == "one by one":
        return sum(extents) - len(extents)
    return math.prod(extents) if strategy == "grid" else None


def _print(found: Tuning[RecursionOptions]) -> None:
    print_table(HEADINGS, found.rows(), text=(HEADINGS[0], HEADINGS[-1]))
    for line in found.not_timed:
        print_text(line)
    print_text(f"\n{found.advice}")


def _document(found: Tuning[RecursionOptions]) -> dict[str, object]:
    return {
        "points": [
            {
                "options": _changed(each.options),
                "kernel_us": dataclasses.asdict(each.kernel_us),
                "of_default": dataclasses.asdict(each.relative),
            }
            for each in found.timed
        ],
        "not_timed": [{"options": _changed(each.options), "because": each.because} for each in found.refused],
        "best": _changed(found.best),
        "gain": found.gain,
        "advice": found.advice,
    }


def _changed(options: RecursionOptions) -> dict[str, object]:
    """Return the options that are not the default, by name."""
    return {
        each.name: getattr(options, each.name)
        for each in dataclasses.fields(options)
        if getattr(options, each.name) != each.default
    }
