"""Grid search over what a model's default schedule chooses (CORTEX, section 6)."""

from cortex.tuning.search import tune
from ragged.tuning.result import Refused, Timed, Tuning

__all__ = ["Refused", "Timed", "Tuning", "tune"]
