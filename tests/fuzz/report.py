"""What a search found: how often each primitive was accepted and refused, and what failed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from rich.table import Table

from tests.fuzz.chunk import Result
from tests.fuzz.search import command
from tests.support import random_loop_steps, random_recursion_steps, random_rules
from tests.support.tally import Tally

PRIMITIVES = (
    *(f"ra.{name}" for name in random_recursion_steps.STEPS),
    *(primitive.__name__ for primitive in random_loop_steps.STEPS),
)
RULES = tuple(f"auto.{name}" for name in (*random_rules.RULES, *random_rules.WHOLE))
"""Rules and default schedules: they propose steps, and may refuse nothing."""


def table(tally: Tally) -> Table:
    """Return the table of the primitives and rules."""
    made = Table("primitive", box=None, pad_edge=False)
    made.add_column("accepted", justify="right")
    made.add_column("refused", justify="right")
    made.add_column("most often because")
    for name in (*PRIMITIVES, *RULES):
        reason = tally.most_frequent_reason(name)
        made.add_row(name, str(tally.accepted[name]), str(tally.refusals(name)), reason)
    return made


def failure_text(result: Result) -> str:
    """Return what failed in a chunk, and the command that runs it again."""
    again = shlex.join(["python", *command(result.chunk)[1:]])
    return f"{result.failure}\nagain: {again}\n"


def verdict(results: Iterable[Result]) -> list[str]:
    """Return what is wrong with a search, nothing if all is well."""
    tally = Tally()
    wrong: list[str] = []
    for result in results:
        tally.add(result.tally)
        if result.failure is not None:
            wrong.append(f"chunk {result.chunk.number} failed")
    idle = [f"{name} was never accepted" for name in RULES if not tally.accepted[name]]
    return wrong + tally.one_sided(PRIMITIVES) + idle
