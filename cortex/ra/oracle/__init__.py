"""The project's oracle: a model's recursion run as recursion, in float64 NumPy, slowly.

It interprets the model as it was written, one node at a time, and shares no code with what compiles it: not
the analyses behind `Model.plan()`, not the lowering, not the schedule. Dense indices are arrays; nodes and
children are Python loops; the recursion has a stack of its own, so that a chain of any length can be run.
"""

from __future__ import annotations

from cortex.ra.oracle.evaluate import evaluate

__all__ = ["evaluate"]
