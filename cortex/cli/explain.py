"""`cortex explain`: what each rule of the default schedule did to a model, and what was refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cortex import ra
from cortex.cli.drawn import batch
from cortex.cli.library import MODEL, SIZE, build, width_options, with_defaults
from cortex.cli.report import OUTPUT_FILE, json_option, print_json
from cortex.cli.steps_page import Measured, steps_page
from cortex.compiler import RecursiveFunction, compile
from cortex.compiler.bisect import compile_steps
from cortex.compiler.interpret import interpreter_inputs
from cortex.compiler.options import DEFAULT, scheduled
from ragged.compiled.target_machine import measured_machine
from ragged.compiled.work import WORK, work_program
from ragged.ir.interpret import interpret
from ragged.runtime.team import check_workers


@click.command()
@click.argument("name", metavar="MODEL", type=MODEL)
@click.option("--target", default="cpu", show_default=True, help="What it is compiled for.")
@width_options
@click.option("--words", type=SIZE, default=1000, show_default=True, help="Rows of the embedding.")
@click.option("--threads", type=SIZE, help="Workers.  [as many as there are cores]")
@click.option(
    "--html", "page", type=OUTPUT_FILE, help="Write a page: times, rules, and what each step changed."
)
@json_option
def explain(
    name: str,
    target: str,
    hidden: int,
    embed: int | None,
    words: int,
    threads: int | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Print what each rule of the default schedule did to a model, and why it did no more.

    The page of --html has the steps for this machine, and the times of ten random trees or sequences.
    """
    model = build(name, with_defaults(name, {"embed": embed}, hidden=hidden, vocab=words))
    params = model.init_params(seed=0)
    fn = compile(model, params, target=target, threads=threads)
    if page is not None:
        page.write_text(_page(name, model, params, fn, threads, target), encoding="utf-8")
    if as_json:
        print_json({"model": name, "rules": [asdict(each) for each in fn.rules]})
    else:
        click.echo(fn.explain())


def _page(
    name: str,
    model: ra.Model,
    params: Mapping[str, Any],
    fn: RecursiveFunction,
    threads: int | None,
    target: str,
) -> str:
    lowered = scheduled(model, DEFAULT).lower()
    workers = check_workers(threads)
    steps = list(compile_steps(lowered, workers))
    measured = None
    if target == "cpu":
        structures = batch(model)
        counting = work_program(lowered)
        sizes, arrays = interpreter_inputs(counting, fn.linearize(structures), params)
        flops = int(interpret(counting, sizes, arrays, workers=1)[WORK][0])
        measured = Measured(fn.profile(structures), flops, workers)
    return steps_page(f"cortex explain {name}", fn.rules, steps, measured, measured_machine())
