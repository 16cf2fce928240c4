"""How often each primitive was accepted and refused, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ragged.errors import ScheduleError


def reason(refusal: ScheduleError) -> str:
    """Return why a step was refused, without the names, expressions and numbers of the one program."""
    text = refusal.because or refusal.what.partition(": ")[2] or refusal.what
    text = re.sub(r"'[^']*'", "'...'", text)
    text = re.sub(r" \(\w[^()]*\)", "", text)
    return re.sub(r"\b\w+(\(|\[).*[)\]]|-?\d+", "#", text)


@dataclass
class Tally:
    """By the primitives' names: how often each was accepted, and how often refused for which reason."""

    accepted: Counter[str] = field(default_factory=Counter, repr=False)
    refused: dict[str, Counter[str]] = field(default_factory=dict, repr=False)

    def accept(self, name: str) -> None:
        self.accepted[name] += 1

    def refuse(self, name: str, refusal: ScheduleError) -> None:
        self.refused.setdefault(name, Counter())[reason(refusal)] += 1

    def refusals(self, name: str) -> int:
        return sum(self.refused.get(name, {}).values())

    def most_frequent_reason(self, name: str) -> str:
        return max(self.refused.get(name, {"": 0}).items(), key=lambda item: (item[1], item[0]))[0]

    def add(self, other: Tally) -> None:
        self.accepted += other.accepted
        for name, reasons in other.refused.items():
            self.refused.setdefault(name, Counter()).update(reasons)

    def one_sided(self, names: Iterable[str]) -> list[str]:
        """Return what speaks against having tried all of `names`: those never accepted, or never refused."""
        never = [f"{name} was never accepted" for name in names if not self.accepted[name]]
        return never + [f"{name} was never refused" for name in names if not self.refusals(name)]

    def as_json(self) -> dict[str, Any]:
        return {
            "accepted": dict(self.accepted),
            "refused": {name: dict(r) for name, r in self.refused.items()},
        }

    @classmethod
    def of_json(cls, given: dict[str, Any]) -> Tally:
        refused = {name: Counter(reasons) for name, reasons in given["refused"].items()}
        return cls(Counter(given["accepted"]), refused)
