"""Measured search over options of the default schedule, shared by all front ends; `ragged.tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragged.tuning.records import Record, merge_records, read_records
from ragged.tuning.result import Refused, Timed, Tuning

if TYPE_CHECKING:
    from ragged.tuning.search import tune

__all__ = ["Record", "Refused", "Timed", "Tuning", "merge_records", "read_records", "tune"]


def __getattr__(name: str) -> Any:
    """Import the search on first use: it needs the Ragged API and its prover, and no part of the rest does."""
    if name != "tune":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ragged.tuning.search import tune

    return tune
