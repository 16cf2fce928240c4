"""Lowering: a model in the Recursive API, and its schedule, to a program of the one IR."""

from cortex.ra.lower.inputs import independent
from cortex.ra.lower.program import Choices, Lowered, lower, scheduled_plan

__all__ = ["Choices", "Lowered", "independent", "lower", "scheduled_plan"]
