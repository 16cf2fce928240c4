"""What scheduling a whole program returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragged.ir.rewrite import Rewritten
from ragged.ir.rule_record import RuleRecord


@dataclass(frozen=True, slots=True)
class ScheduleResult(Rewritten):
    """A scheduled program. `shares_columns`: workers compute slices of columns, not only of nodes or rows.

    `rules` are the records of the default schedule's rules; `variants` is the table of its variants as JSON text.
    """

    shares_columns: bool = False
    rules: tuple[RuleRecord, ...] = ()
    variants: str = ""


def rules_of(results: Iterable[Rewritten | None]) -> tuple[RuleRecord, ...]:
    """Return the records of the rules of all schedules among the results of passes."""
    return tuple(rule for each in results if isinstance(each, ScheduleResult) for rule in each.rules)
