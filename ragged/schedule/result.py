"""What scheduling a whole program returns."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.ir.rewrite import Rewritten


@dataclass(frozen=True, slots=True)
class ScheduleResult(Rewritten):
    """A scheduled program. `shares_columns`: workers compute slices of columns, not only of nodes or rows."""

    shares_columns: bool = False
