"""Rewritings of a model into one that computes the same: pure functions, for `cortex.ra.schedule`."""

from cortex.ra.rewrite.refactor import Refactored, compute_once, refactor

__all__ = ["Refactored", "compute_once", "refactor"]
