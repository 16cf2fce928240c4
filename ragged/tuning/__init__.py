"""Measured search over options of the default schedule, shared by all front ends; `ragged.tune`."""

from ragged.tuning.records import Record, merge_records, read_records
from ragged.tuning.result import Refused, Timed, Tuning
from ragged.tuning.search import tune

__all__ = ["Record", "Refused", "Timed", "Tuning", "merge_records", "read_records", "tune"]
