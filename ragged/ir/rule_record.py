"""What each rule of a default schedule did: the steps that it applied, and those that a primitive refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from ragged.errors import ScheduleError


@dataclass(frozen=True, slots=True)
class Refusal:
    """A step that was refused, as code, and the reason."""

    step: str
    reason: str

    @classmethod
    def of(cls, step: str, error: ScheduleError) -> Refusal:
        """Return the refusal of a step by an error: what it says, and because of what, on one line."""
        parts = (error.what, error.because and f"because: {error.because}")
        return cls(step, " ".join(" ".join(filter(None, parts)).split()))


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """The effect of one rule: `because` is its reason, `applied` its steps as code, in the order of the schedule.

    `disabled` is the option that switches the rule off, or None where it ran.
    """

    rule: str
    because: str
    applied: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    disabled: str | None = None

    def __str__(self) -> str:
        """Return the record as lines of text."""
        lines = [f"{self.rule}: {self.because}"]
        if self.disabled is not None:
            return f"{lines[0]}\n  not run: {self.disabled}"
        lines += (f"  applied {step}" for step in self.applied)
        for each in self.refused:
            lines += (f"  refused {each.step}", f"    {each.reason}")
        return "\n".join(lines if len(lines) > 1 else [*lines, "  no site"])


def rules_to_json(records: Iterable[RuleRecord]) -> str:
    """Return records as JSON text, a listing of a kernel."""
    return json.dumps([asdict(each) for each in records])


def rules_from_json(text: str) -> tuple[RuleRecord, ...]:
    """Return the records that `rules_to_json` wrote."""
    return tuple(
        RuleRecord(
            each["rule"],
            each["because"],
            tuple(each["applied"]),
            tuple(Refusal(**refusal) for refusal in each["refused"]),
            each["disabled"],
        )
        for each in json.loads(text)
    )
