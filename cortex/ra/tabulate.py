"""Which computes can be tabulated over an integer payload, and which are worth it."""

from __future__ import annotations

from collections.abc import Collection

from cortex.ra.base import ModelTensor
from cortex.ra.expr import DenseReduce
from cortex.ra.lower import table_bytes
from cortex.ra.lower.inputs import alone, chosen_by_payload
from cortex.ra.lower.keys import payloads_of
from cortex.ra.lower.tables import only_looks_up
from cortex.ra.model import Model
from cortex.ra.named import check_computed, check_operator
from cortex.ra.tensor import Compute
from cortex.ra.walk import subexpressions
from ragged.errors import Location, ScheduleError

MOST_BYTES = 1 << 32
"""The largest table that a schedule may ask for, in bytes."""
TERMS = 32
"""Minimum terms of a sum for a table to be cheaper: at 470 GFLOP/s and 38 GB/s loading a float costs about 25."""


def check_tabulates(
    model: Model, op: ModelTensor, tabulated: Collection[ModelTensor], at: Location | None
) -> Compute:
    """Return `op` if it can be tabulated; `ScheduleError` otherwise."""
    name = check_computed("tabulate", model, op, at)
    compute = check_operator("tabulate", model, op, at)
    if op in tabulated:
        raise ScheduleError(f"tabulate: '{name}' is in a table already", at=at, fix="ask for it once")
    because = _reason(model, compute)
    if because is not None:
        raise ScheduleError(f"tabulate: '{name}' cannot be in a table", at=at, because=because)
    size = table_bytes(model, [compute])
    if size > MOST_BYTES:
        raise ScheduleError(
            f"tabulate: a table of '{name}' would take {size:,} bytes",
            at=at,
            because=f"it has a row for each value that '{payloads_of(compute)[0].name}' may have",
            fix="index a smaller table with the payload: that says how large it may be",
        )
    return compute


def worthwhile(model: Model, tabulated: Collection[ModelTensor] = ()) -> tuple[Compute, ...]:
    """Return the computes with sums that cost more than a table lookup and that can be tabulated."""
    return tuple(
        body
        for body in model.computes
        if isinstance(body, Compute)
        and body not in tabulated
        and any(isinstance(e, DenseReduce) and e.index.extent >= TERMS for e in subexpressions(body.body))
        and _reason(model, body) is None
    )


def affordable(model: Model, most: int) -> tuple[Compute, ...]:
    """Return the worthwhile computes, in model order, as far as all tables together take at most `most` bytes."""
    taken: tuple[Compute, ...] = ()
    for compute in worthwhile(model) if most else ():
        if table_bytes(model, (*taken, compute)) <= min(most, MOST_BYTES):
            taken = (*taken, compute)
    return taken


def offer(model: Model, tabulated: Collection[ModelTensor]) -> str | None:
    """Return a comment that lists further computes that could be tabulated and their bytes; None if there are none."""
    found = worthwhile(model, tabulated)
    if not found:
        return None
    names = ", ".join(model.name(compute) for compute in found)
    size = table_bytes(model, (*(each for each in tabulated if isinstance(each, Compute)), *found))
    return (
        f"# not in tables: {names}; with table_bytes={size:_} they would be, made when parameters are bound"
    )


def _reason(model: Model, op: Compute) -> str | None:
    """Return why a compute cannot be tabulated; None if it can."""
    if op.calls:
        return "it takes in what a child returned"
    if op.child is not None:
        return "it has a value for each child of a node"
    chosen = chosen_by_payload(model)
    if op in chosen:
        return f"a branch chooses by '{chosen[op].name}' where it is computed"
    if op not in alone(model):
        return "it takes in more than parameters and what the node itself carries"
    if not op.dtype.is_float:
        return "it holds integers, and of those that index a table it has to be known how they are computed"
    if only_looks_up(op.body):
        return "it looks up what a parameter holds, and computes nothing"
    payloads = payloads_of(op)
    if not payloads:
        return "it is the same at all nodes: hoist_constants is for that"
    if len(payloads) > 1:
        return f"it takes in {' and '.join(repr(payload.name) for payload in payloads)}, each with values of its own"
    (payload,) = payloads
    if len(payload.shape) > 1 or not payload.dtype.is_int:
        return f"it takes in '{payload.name}', which is not one integer"
    declared = model.plan().payload(payload.name)
    if declared is None or declared.range is None:
        return f"it is not known which values '{payload.name}' may have, which indexes no parameter"
    return None
