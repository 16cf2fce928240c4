"""`cortex show`: a model at a stage of its compilation."""

from __future__ import annotations

import click

from cortex.cli.library import MODEL, SIZE, build, width_options, with_defaults
from cortex.cli.report import json_option, print_json
from cortex.compiler import compile
from cortex.compiler.function import RecursiveFunction


@click.command()
@click.argument("name", metavar="MODEL", type=MODEL)
@click.option(
    "--stage",
    type=click.Choice(RecursiveFunction.stages),
    default="ilir",
    show_default=True,
    help="ra: the model; schedule: the schedule of its recursion; ilir: the loops that it becomes; loops: the "
    "program after all passes; checks: what was proven, and how; tir, asm: the kernel as TVM and the machine have it; "
    "cuda: its source for a GPU.",
)
@click.option(
    "--target", help="What it is compiled for: cpu, cuda -arch=sm_90.  [cpu, or cuda for the stage cuda]"
)
@width_options
@click.option("--words", type=SIZE, default=1000, show_default=True, help="Rows of the embedding.")
@click.option("--input", "given", help="How a node's input is given: word, vector or projected.")
@json_option
def show(
    name: str,
    stage: str,
    target: str | None,
    hidden: int,
    embed: int | None,
    words: int,
    given: str | None,
    as_json: bool,
) -> None:
    """Print a stage of a model on its way to machine code."""
    options = {"embed": embed, "input": given}
    model = build(name, with_defaults(name, options, hidden=hidden, vocab=words))
    target = target or ("cuda" if stage == "cuda" else "cpu")
    text = compile(model, model.init_params(seed=0), target=target).show(stage)
    if as_json:
        print_json({"model": name, "stage": stage, "text": text})
    else:
        click.echo(text)
