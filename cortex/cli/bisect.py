"""`cortex bisect`: the first step of a schedule that makes a model wrong."""

from __future__ import annotations

import click

from cortex.cli.drawn import small_structures
from cortex.cli.library import MODEL, SIZE, build, width_options, with_defaults
from cortex.cli.report import json_option, print_json
from cortex.compiler.bisect import CompileStep
from cortex.compiler.bisect import bisect as find


@click.command()
@click.argument("name", metavar="MODEL", type=MODEL)
@width_options
@click.option("--threads", type=SIZE, default=2, show_default=True, help="Workers of the interpreted team.")
@click.option(
    "--leaves",
    type=SIZE,
    default=1,
    show_default=True,
    help="Leaves of the largest tree: as many as tiles have rows.",
)
@json_option
def bisect(name: str, hidden: int, embed: int | None, threads: int, leaves: int, as_json: bool) -> None:
    """Run a model in the interpreter after each step of its schedule, and name the first wrong one.

    Steps are searched by halving. A fault in a loop over many rows shows in trees with that many --leaves. Status 1: a
    step is wrong.
    """
    model = build(name, with_defaults(name, {"embed": embed}, hidden=hidden, vocab=9))
    executed: list[dict[str, object]] = []

    def progress(step: CompileStep, fault: str | None) -> None:
        executed.append({"pass": step.name, "step": step.code, "fault": fault})
        if not as_json:
            click.echo(f"{'right' if fault is None else 'wrong'}  {step.name}  {step.code}".rstrip())

    structures = small_structures(model, leaves)
    wrong = find(model, model.init_params(seed=0), structures, threads=threads, progress=progress)
    if as_json:
        found = (
            None
            if wrong is None
            else {"pass": wrong.step.name, "step": wrong.step.code, "fault": wrong.fault}
        )
        print_json({"model": name, "executed": executed, "first_wrong": found})
    elif wrong is None:
        click.echo("every step leaves a program that computes what the model says")
    else:
        click.echo(
            f"\nfirst wrong step, of pass {wrong.step.name}: {wrong.step.code}\n{wrong.fault}\n{wrong.diff()}"
        )
    if wrong is not None:
        raise SystemExit(1)
