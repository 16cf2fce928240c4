"""`make fuzz-readers`: inputs that coverage guides through everything that reads files and texts.

    python -m tests.fuzz_readers --minutes 10 --jobs 2
    python -m tests.fuzz_readers --reader tc.define build/fuzz-readers/tc-define-crash-0f3a

A reader has to return, or to raise a `UserError`. Any other exception, a crash, 2 GiB of memory and more than ten
seconds are failures. Each reader runs under libFuzzer in a process of its own, which ends at the first failure: its
input is written to a file, and the exit status is 1. The second command reads such a file once more.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

try:
    import atheris

    from tests.fuzz_readers.search import Limits, Result, repeat, search
except ModuleNotFoundError as error:
    if error.name != "atheris":
        raise
    sys.exit("make fuzz-readers needs atheris, which is built for Python 3.11 to 3.13 on Linux on x86-64")
if TYPE_CHECKING:
    from tests.fuzz_readers.reader import Reader

PACKAGE = "tests.fuzz_readers"


@click.command(help=__doc__)
@click.option("--minutes", default=10.0, help="Minutes that the processes run, all together.")
@click.option("--jobs", default=len(os.sched_getaffinity(0)), help="How many processes run at once.")
@click.option("--seed", default=0, help="Another seed draws other inputs.")
@click.option("--reader", "names", multiple=True, help="These readers alone.")
@click.option("--case-seconds", default=10, help="Seconds that one input may take.")
@click.option("--module", default=f"{PACKAGE}.readers", help="The module with the readers.")
@click.option(
    "--findings",
    default=Path("build/fuzz-readers"),
    type=click.Path(path_type=Path),
    help="The folder that inputs which fail are written to.",
)
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
def main(
    minutes: float,
    jobs: int,
    seed: int,
    names: tuple[str, ...],
    case_seconds: int,
    module: str,
    findings: Path,
    file: Path | None,
) -> None:
    """Search, or read one file again."""
    if file is not None and len(names) != 1:
        raise click.UsageError("a file is read by one reader: name it with --reader")
    readers = instrumented_readers(module)
    if unknown := [name for name in names if name not in readers]:
        raise click.UsageError(f"no reader is called {unknown[0]!r}; there are: {'; '.join(readers)}")
    if file is not None:
        sys.exit(repeat(readers[names[0]], file, case_seconds))
    chosen = {name: readers[name] for name in names or readers}
    limits = Limits(max(1, round(60 * minutes / len(chosen))), case_seconds, seed)
    console = Console(highlight=False)
    console.print(f"{len(chosen)} readers, {limits.seconds} s each, {jobs} at once")
    findings.mkdir(parents=True, exist_ok=True)
    results = list(search(chosen, limits, jobs, findings))
    for result in results:
        if result.failure is not None:
            again = ["python", "-m", PACKAGE, "--module", module, "--reader", result.name, str(result.input)]
            click.echo(f"{result.name}: {result.failure}\nagain: {join(again)}\n")
    console.print(table(results))
    failed = sum(result.failure is not None for result in results)
    console.print(f"{sum(result.executions for result in results):,} inputs, {failed} failures")
    sys.exit(1 if failed else 0)


def instrumented_readers(module: str) -> dict[str, Reader]:
    """Return the readers of a module, which is imported here as our packages are: libFuzzer sees their branches."""
    packages = ["ragged", "cortex", PACKAGE]
    with atheris.instrument_imports(include=packages), redirect_stderr(io.StringIO()):
        return import_module(module).readers()


def table(results: Iterable[Result]) -> Table:
    """Return the table of the readers."""
    made = Table("reader", box=None, pad_edge=False)
    for name in ("inputs", "coverage", "corpus"):
        made.add_column(name, justify="right")
    made.add_column("result")
    for each in results:
        counts = (each.executions, each.coverage, each.corpus)
        made.add_row(each.name, *(f"{count:,}" for count in counts), "failed" if each.failure else "fine")
    return made


if __name__ == "__main__":
    main()
