"""Whether the arrays of a linearized batch are as long as it says: who exchanges some of them could get that wrong.

What their values are is checked by each kernel's prelude, as far as proofs rely on it. That reads arrays as long as the
batch says that they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cortex.linearize import faults

if TYPE_CHECKING:
    from cortex.linearize.result import Linearized

Shape = tuple[int, ...]


def check_lengths(batch: Linearized) -> None:
    """Raise `DataError` if an array of a batch is of another shape than its sizes say."""
    for name, found, wanted in _shapes(batch):
        if found != wanted:
            raise faults.other_shape(name, found, wanted)


def _shapes(batch: Linearized) -> Iterator[tuple[str, Shape, Shape]]:
    """Yield each array's name, its shape and the one that it has to have."""
    nodes, batches = (batch.num_nodes,), (batch.num_batches,)
    yield "batch_begin", batch.batch_begin.shape, batches
    yield "batch_length", batch.batch_length.shape, batches
    yield "child_begin", batch.child_begin.shape, (batch.num_nodes + 1,)
    yield "child", batch.child.shape, (batch.num_edges,)
    for position, array in batch.positions.items():
        yield f"positions[{position}]", array.shape, (batch.num_inner,)
    for payload in batch.plan.payloads:
        yield payload.name, batch.payloads[payload.name].shape, (*nodes, *payload.shape)
        if payload.shape and payload.dtype.is_float:
            begin = batch.payload_begin.get(payload.name)
            yield f"payload_begin[{payload.name!r}]", () if begin is None else begin.shape, nodes
    yield "top_begin", batch.top_begin.shape, (batch.num_steps + 1,)
    yield "step_top", batch.step_top.shape, (batch.num_tops,)
    if batch.plan.unrolled:
        yield "height", batch.height.shape, nodes
        yield "step_group", batch.step_group.shape, nodes
    for number, array in enumerate(batch.class_length):
        yield f"class_length[{number}]", array.shape, batches
    if batch.plan.recycled:
        yield "storage_begin", batch.storage_begin.shape, batches
        yield "storage_row", batch.storage_row.shape, nodes
