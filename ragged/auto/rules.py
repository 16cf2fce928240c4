"""Rules of a default schedule, and their runner, which records what each applied and what was refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ragged.ir.rule_record import RuleRecord
from ragged.schedule.loop_schedule import LoopSchedule


class RuleState(Protocol):
    """What rules of one target read and write: the schedule, and what later rules need to know."""

    schedule: LoopSchedule


S = TypeVar("S", bound=RuleState)


@dataclass(frozen=True, slots=True)
class Rule(Generic[S]):
    """A transform of all sites that match its pattern, and the reason for it.

    `apply` finds the sites and schedules them; it is run once, at the rule's place in the order. A step that a
    primitive refuses leaves its site as it was. `option` is the name of the option that switches the rule off.
    """

    name: str
    apply: Callable[[S], None]
    because: str
    option: str | None = None


def run_rules(rules: Sequence[Rule[S]], state: S, options: object = None) -> tuple[RuleRecord, ...]:
    """Run rules in order, but for those that an option switches off, and return what each did."""
    records = []
    for rule in rules:
        if rule.option is not None and not getattr(options, rule.option):
            records.append(RuleRecord(rule.name, rule.because, disabled=f"{rule.option}=False"))
            continue
        steps, refusals = state.schedule.counts()
        rule.apply(state)
        records.append(state.schedule.record(rule.name, rule.because, steps, refusals))
    return tuple(records)
