"""`cortex explain`: what each rule of the default schedule did to a model, and what was refused."""

from __future__ import annotations

from dataclasses import asdict

import click

from cortex.cli.library import MODEL, SIZE, build, width_options, with_defaults
from cortex.cli.report import json_option, print_json
from cortex.compiler import compile


@click.command()
@click.argument("name", metavar="MODEL", type=MODEL)
@click.option("--target", default="cpu", show_default=True, help="What it is compiled for.")
@width_options
@click.option("--words", type=SIZE, default=1000, show_default=True, help="Rows of the embedding.")
@click.option("--threads", type=SIZE, help="Workers.  [as many as there are cores]")
@json_option
def explain(
    name: str, target: str, hidden: int, embed: int | None, words: int, threads: int | None, as_json: bool
) -> None:
    """Print what each rule of the default schedule did to a model, and why it did no more."""
    model = build(name, with_defaults(name, {"embed": embed}, hidden=hidden, vocab=words))
    fn = compile(model, model.init_params(seed=0), target=target, threads=threads)
    if as_json:
        print_json({"model": name, "rules": [asdict(each) for each in fn.rules]})
    else:
        click.echo(fn.explain())
