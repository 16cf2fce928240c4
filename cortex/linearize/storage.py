"""Whether the rows that nodes are kept in hold what kernels read there: who exchanges arrays could get that wrong.

A kernel's prelude checks that there are such rows, and that children are in earlier batches; not whose a row is when it
is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cortex.linearize import faults

if TYPE_CHECKING:
    from cortex.linearize.result import Linearized

Nodes = npt.NDArray[np.int64]


def check_storage(batch: Linearized) -> None:
    """Raise `DataError` if a row of a batch holds another node when one is read there; its arrays are long enough.

    What are no nodes of the batch are left to the prelude.
    """
    if not batch.plan.recycled:
        return
    held = np.full(max(batch.storage_rows, 0), -1, np.int64)
    parts = (batch.batch_begin, batch.batch_length, batch.storage_begin)
    for number, (first, length, place) in enumerate(zip(*map(np.ndarray.tolist, parts), strict=True)):
        if not 0 <= place <= len(held) - length:
            raise faults.storage_beyond(number, place, length, len(held))
        nodes = np.arange(first, first + length)
        held[place : place + len(nodes)] = nodes
        below = batch.child[slice(*batch.child_begin[[first, first + length]])] if length else nodes
        _check_held(batch, held, np.concatenate((nodes, below)), f"while batch {number} is computed")
    _check_held(batch, held, batch.roots.astype(np.int64), "at the end")


def _check_held(batch: Linearized, held: Nodes, nodes: Nodes, when: str) -> None:
    nodes = nodes[(nodes >= 0) & (nodes < batch.num_nodes)]
    rows = batch.storage_row[nodes]
    there = (rows >= 0) & (rows < len(held))
    kept = there.copy()
    kept[there] = held[rows[there]] == nodes[there]
    if not kept.all():
        node = int(nodes[np.argmin(kept)])
        raise faults.storage_lost(node, int(batch.storage_row[node]), when)
