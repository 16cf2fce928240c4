"""`make fuzz-readers`: random and mutated bytes through everything that reads files and texts.

    python -m tests.fuzz_readers --minutes 10 --seed 0

A reader has to return, or to raise a `UserError`. Any other exception, a crash, more than 2 GiB of memory and more than
ten seconds of processor time are failures: each is printed with the command that repeats it, and the exit status is 1.
Readers share the processor time of `--minutes` equally, and run in processes of their own.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

import click

from tests.fuzz_readers.reader import Reader, data_of, run_case, run_cases

PACKAGE = "tests.fuzz_readers"


@click.command(help=__doc__)
@click.option("--minutes", default=10.0, help="Minutes of processor time, of all readers together.")
@click.option("--seed", default=0, help="Another seed draws other cases.")
@click.option("--reader", "names", multiple=True, help="These readers alone.")
@click.option("--case", "number", type=int, help="Run this case of one reader, and print its bytes.")
@click.option("--case-seconds", default=10.0, help="Seconds of processor time that one case may take.")
@click.option("--module", default=f"{PACKAGE}.readers", help="The module with the readers.")
@click.option("--first", type=int, help="Run cases of one reader in this process, from this number on.")
@click.option(
    "--begun", type=click.Path(path_type=Path), help="The file for the number of the case that runs."
)
def main(
    minutes: float,
    seed: int,
    names: tuple[str, ...],
    number: int | None,
    case_seconds: float,
    module: str,
    first: int | None,
    begun: Path | None,
) -> None:
    """Search, or run one case, or the cases of one process."""
    readers: dict[str, Reader] = import_module(module).readers()
    names = names or tuple(readers)
    if number is not None:
        sys.exit(_repeat(readers[names[0]], names[0], seed, number, case_seconds))
    if first is not None and begun is not None:
        reader, seconds = readers[names[0]], 60 * minutes
        for at, failure in run_cases(reader, names[0], seed, first, seconds, case_seconds, begun):
            print(json.dumps([at, failure]), flush=True)
        return
    failed = 0
    for name in names:
        found = Search(name, seed, module, 60 * minutes / len(names), case_seconds)
        found.run()
        failed += len(found.failures)
        click.echo(f"{name}: {found.cases} cases, {len(found.failures)} kinds of failures")
        for at, failure in found.failures.values():
            click.echo(f"{failure}\n  python -m {PACKAGE} --reader {quote(name)} --seed {seed} --case {at}\n")
    sys.exit(1 if failed else 0)


def _repeat(reader: Reader, name: str, seed: int, number: int, most: float) -> int:
    data = data_of(reader, name, seed, number)
    click.echo(repr(data) if len(data) < 3000 else f"{data[:1500]!r} ... {data[-1500:]!r}, {len(data)} bytes")
    failure = run_case(reader, data, most)
    click.echo(failure or "fine")
    return failure is not None


@dataclass
class Search:
    """The cases of one reader, in as many processes as their crashes ask for.

    `failures` are the first of each kind: the number of its case, and what happened.
    """

    name: str
    seed: int
    module: str
    seconds: float
    case_seconds: float
    cases: int = 0
    failures: dict[str, tuple[int, str]] = field(default_factory=dict)

    def run(self) -> None:
        """Run cases until the processor time of this reader is spent, or ten kinds of failures are found."""
        first, left = 0, self.seconds
        while left > 0 and len(self.failures) < 10:
            before = _child_seconds()
            first = self._run(first, left)
            left -= max(_child_seconds() - before, 0.1)

    def _run(self, first: int, seconds: float) -> int:
        """Run one process, and return the number of the next case."""
        with TemporaryDirectory() as folder:
            begun = Path(folder) / "begun"
            command = [sys.executable, "-m", PACKAGE, "--module", self.module, "--reader", self.name]
            command += ["--seed", str(self.seed), "--minutes", str(seconds / 60)]
            command += ["--case-seconds", str(self.case_seconds)]
            command += ["--first", str(first), "--begun", str(begun)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            last = int(begun.read_text()) if begun.exists() else first
        self.cases += last + 1 - first
        for line in done.stdout.splitlines():
            if line.startswith("["):
                number, failure = json.loads(line)
                if failure is not None:
                    self._note(number, failure)
        if done.returncode != 0:
            how = f"exit status {done.returncode}"
            if done.returncode < 0:
                how = signal.Signals(-done.returncode).name
            self._note(last, f"the process ended: {how}\n{done.stderr[-2000:]}")
        return last + 1

    def _note(self, number: int, failure: str) -> None:
        places = [line for line in failure.splitlines() if line.startswith("  File")]
        kind = "".join(places[-1:]) or failure.partition("\n")[0]
        self.failures.setdefault(kind, (number, failure))


def _child_seconds() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
