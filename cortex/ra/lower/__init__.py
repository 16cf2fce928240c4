"""Lowering: a model in the Recursive API, and its schedule, to a program of the one IR."""

from cortex.ra.lower.program import (
    LoweredModel,
    LoweringOptions,
    count_cases,
    hoistable,
    lower,
    scheduled_plan,
    table_bytes,
)

__all__ = [
    "LoweredModel",
    "LoweringOptions",
    "count_cases",
    "hoistable",
    "lower",
    "scheduled_plan",
    "table_bytes",
]
