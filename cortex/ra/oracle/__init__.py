"""The oracle: a model's recursion executed as recursion, in float64 NumPy, slowly.

It interprets the model one node at a time and shares no code with the compiler: not the analyses behind
`Model.plan()`, not the lowering, not the schedule. Dense indices are arrays; nodes and children are Python loops; an
explicit stack allows chains of any length.
"""

from __future__ import annotations

from cortex.ra.oracle.evaluate import evaluate

__all__ = ["evaluate"]
