"""Indices of dense dimensions stay inside, whatever values the payloads have."""

from __future__ import annotations

import math

from cortex.ra.bounds import Lookup, lookups, payload_range
from cortex.ra.cases import CaseAnalysis
from cortex.ra.collect import Recursion
from cortex.ra.tensor import NodeInput
from ragged.errors import ModelError


def check_indices_in_range(recursion: Recursion) -> None:
    """An index is inside its dimension, unless it is a payload: payloads are checked with the structures."""
    for found in lookups(CaseAnalysis(recursion)):
        if found.payload is None:
            raise _leaves(recursion, found)


def check_defaults_in_range(recursion: Recursion) -> None:
    """A payload's default indexes no table out of its bounds."""
    for found in lookups(CaseAnalysis(recursion)):
        if not found.default_may_reach or found.payload is None:
            continue
        payload = found.payload.tensor
        assert isinstance(payload, NodeInput) and payload.default is not None
        low, high = found.allowed
        if not low <= payload.default <= high:
            value = recursion.text(found.payload)
            raise ModelError(
                f"'{recursion.text(found.read)}' is read where a node carries no '{payload.name}'",
                at=found.read.at,
                because=f"'{payload.name}' is {payload.default} there, and dimension {found.axis} of "
                f"'{recursion.name(found.read.tensor)}' has {found.extent} elements",
                fix=f"ra.where({value} >= 0, {recursion.text(found.read)}, 0.0)",
            )


def check_payloads_possible(recursion: Recursion) -> None:
    """Some value of a payload is inside all tables that it indexes."""
    for tensor in recursion.payloads.values():
        ends = payload_range(CaseAnalysis(recursion), tensor)
        if ends is not None and ends[0] > ends[1]:
            raise ModelError(
                f"payload '{tensor.name}' indexes tables that no value fits",
                at=tensor.at,
                because=f"one read needs it to be at least {ends[0]}, another at most {ends[1]}",
                fix="make the tables agree, or guard the reads with ra.where",
            )


def _leaves(recursion: Recursion, found: Lookup) -> ModelError:
    low, high = found.reached
    table, index = recursion.name(found.read.tensor), recursion.text(found.expr)
    what = f"'{recursion.text(found.read)}': '{index}' may leave dimension {found.axis} of '{table}'"
    if math.isinf(low) or math.isinf(high):
        return ModelError(
            what,
            at=found.read.at,
            because=f"the dimension has {found.extent} elements, and how large '{index}' may be is not known",
            fix=f"index with a payload, which each call checks, or with {recursion.text(found.expr % found.extent)}",
        )
    return ModelError(
        what,
        at=found.read.at,
        because=f"the dimension has {found.extent} elements",
        example=f"{index} = {int(low if low < 0 else high)}",
        fix="make the extents agree, or guard the read with ra.where",
    )
