"""Lowering: a model in the Recursive API, and its schedule, to a program of the one IR."""

from cortex.ra.lower.program import lower

__all__ = ["lower"]
