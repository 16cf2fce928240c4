"""Preconditions of unrolling: batched nodes, and structures in which no node is shared."""

from __future__ import annotations

from cortex.ra.lower import LoweringOptions
from cortex.ra.model import Model
from cortex.ra.structure import Dag
from ragged.errors import Location, ScheduleError

MAX_DEPTH = 16
"""The most levels of descendants in one step."""


def check_unrolls(model: Model, options: LoweringOptions, depth: int, at: Location | None) -> None:
    """Raise a `ScheduleError` unless the model's recursion can be unrolled by `depth`."""
    if isinstance(model.structure, Dag):
        raise ScheduleError(
            "unroll: the model runs over a Dag",
            at=at,
            because="a node that several parents share would be computed again for each (CORTEX, section 3.1)",
            fix="unroll models over ra.Tree() and ra.Sequence()",
        )
    if type(depth) is int and depth > MAX_DEPTH:
        raise ScheduleError(
            f"unroll: {depth} levels of descendants are more than {MAX_DEPTH}",
            at=at,
            because="each level has code of its own",
        )
    if type(depth) is not int or depth < 1:
        raise ScheduleError(
            f"unroll: {depth!r} is no depth",
            at=at,
            because="a step holds a node and so many levels of its descendants",
            fix="a whole number from 1 on",
        )
    if not options.batched:
        raise ScheduleError(
            "unroll: the nodes are not batched",
            at=at,
            because="a step takes several batches at once, and nodes run one after another",
            fix="dynamic_batch first",
        )
    if options.unrolled:
        raise ScheduleError(
            f"unroll: the recursion is unrolled by {options.unrolled} already",
            at=at,
            fix="ask for it once, with the depth that you need",
        )
