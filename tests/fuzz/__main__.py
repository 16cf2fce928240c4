"""`make fuzz`: random models, structures and schedules, as many as time allows, each compared with the oracle.

    python -m tests.fuzz --examples 10000 --seed 0 --jobs 2

Examples run in chunks, each in a process of its own; an interrupted search goes on where it was. At the end stands how
often each primitive was accepted and refused. Exits with 1 if an example failed (its text and command are printed), or
if a primitive was never accepted or never refused.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.fuzz.chunk import Chunk, Result, run_chunk
from tests.fuzz.finished import Finished
from tests.fuzz.report import failure_text, table, verdict
from tests.fuzz.search import chunks, search
from tests.support.tally import Tally


@click.command(help=__doc__)
@click.option("--examples", default=10_000, help="How many examples to draw.")
@click.option("--seed", default=0, help="Another seed draws other examples.")
@click.option("--jobs", default=1, help="How many processes run at once.")
@click.option("--minutes", default=float("inf"), help="Begin nothing after so many minutes.")
@click.option("--state", type=click.Path(path_type=Path), help="The file of finished chunks.")
@click.option("--anew", is_flag=True, help="Forget what is finished.")
@click.option(
    "--shrink/--no-shrink", default=True, help="Whether to look for the smallest example that fails."
)
@click.option("--chunk", type=int, help="Run this chunk alone, and print its result as JSON.")
@click.option("--size", default=100, help="The examples of that chunk.")
def main(
    examples: int,
    seed: int,
    jobs: int,
    minutes: float,
    state: Path | None,
    anew: bool,
    shrink: bool,
    chunk: int | None,
    size: int,
) -> None:
    """Search, or run one chunk."""
    if chunk is not None:
        os.environ["CORTEX_CACHE_DIR"] = ""
        print(json.dumps(run_chunk(Chunk(seed, chunk, size), shrink=shrink).as_json()))
        return
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # and end what runs
    console = Console(highlight=False)
    wanted = chunks(seed, examples)
    try:
        finished = Finished(state or Path("build") / f"fuzz-{seed}.jsonl", anew=anew)
    except BlockingIOError:
        raise click.ClickException(
            "another search is at work on that file; take another --state or --seed"
        ) from None
    with finished:
        todo = [each for each in wanted if each not in finished]
        found = search(todo, jobs=jobs, seconds=minutes * 60, shrink=shrink)
        _follow(console, wanted, finished, found)
        results = [finished.results[each] for each in wanted if each in finished]
    tally = Tally()
    for result in results:
        tally.add(result.tally)
    console.print(table(tally))
    wrong = verdict(results)
    for line in wrong:
        console.print(f"[red]{escape(line)}[/red]")
    console.print(
        f"{sum(result.examples for result in results)} examples, seed {seed}: {'failed' if wrong else 'fine'}"
    )
    sys.exit(1 if wrong else 0)


def _follow(console: Console, wanted: list[Chunk], finished: Finished, found: Iterator[Result]) -> None:
    """Write down what is found, and show how far the search is."""
    columns = (
        TextColumn("examples"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
    )
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        done = sum(each.size for each in wanted if each in finished)
        task = progress.add_task("", total=sum(each.size for each in wanted), completed=done, failed=0)
        begin, failed = time.monotonic(), 0
        for result in found:
            finished.add(result)
            failed += result.failure is not None
            progress.update(task, advance=result.chunk.size, failed=failed)
            if result.failure is not None:
                console.print(escape(failure_text(result)), soft_wrap=True)
            if not console.is_terminal:
                spent = time.monotonic() - begin
                console.print(f"chunk {result.chunk.number}: {result.examples} examples, {spent:.0f} s")


if __name__ == "__main__":
    main()
