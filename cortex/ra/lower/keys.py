"""The payload that a table is indexed by, and its values."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor
from cortex.ra.collect import reads
from cortex.ra.lower.buffers import TableKeys
from cortex.ra.model import Model
from cortex.ra.tensor import Compute, NodeInput
from cortex.ra.walk import subexpressions
from ragged.arith.intervals import hull
from ragged.ir.build import add
from ragged.ir.expr import Const, Expr


def payloads_of(compute: Compute) -> tuple[NodeInput, ...]:
    """Return the payloads that a compute depends on, directly or through others, in reading order."""
    found = (tensor for part in _with_sources(compute) for tensor in _read(part))
    return tuple(dict.fromkeys(tensor for tensor in found if isinstance(tensor, NodeInput)))


def keys_of(model: Model, compute: Compute, cases: Collection[int]) -> TableKeys:
    """Return the keys of a compute's table; `cases` are the numbers of children at which it is computed."""
    (read,) = payloads_of(compute)
    payload = model.plan().payload(read.name)
    assert payload is not None and payload.range is not None, "tabulate has seen to it"
    reached = [payload.interval(leaf=leaf) for leaf in {case == 0 for case in cases}]
    low, high = hull([payload.range, *(ends for ends in reached if ends is not None)])
    return TableKeys(read.name, int(low), int(high), payload.range, int(payload.default))


def _with_sources(compute: Compute) -> Iterator[Compute]:
    seen: set[ModelTensor] = set()
    stack: list[ModelTensor] = [compute]
    while stack:
        tensor = stack.pop()
        if isinstance(tensor, Compute) and tensor not in seen:
            seen.add(tensor)
            yield tensor
            stack += reads(tensor)


def _read(compute: Compute) -> Iterator[ModelTensor]:
    return (part.tensor for part in subexpressions(compute.body) if isinstance(part, ra.Read))


def shifted(value: Expr, by: int) -> Expr:
    """Return `value + by`; a constant if `value` is one."""
    match value:
        case Const(value=number):
            return Const(int(number) + by)
        case _:
            return add(value, Const(by)) if by else value
