"""Grid search over what a model's default schedule chooses (CORTEX, section 6)."""

from cortex.tuning.result import Refused, Timed, Tuning
from cortex.tuning.search import tune

__all__ = ["Refused", "Timed", "Tuning", "tune"]
