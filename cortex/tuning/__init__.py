"""A measured search over options of a model's schedules (CORTEX, section 6)."""

from cortex.tuning.search import tune
from ragged.tuning.result import Refused, Timed, Tuning

__all__ = ["Refused", "Timed", "Tuning", "tune"]
