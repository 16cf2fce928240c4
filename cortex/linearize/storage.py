"""Checks that the storage rows of a linearized batch, if its arrays were exchanged, hold the nodes that are read.

A kernel's prelude checks that there are such rows, and that children are in earlier batches; not which node's state a
row holds when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.ilir.index_arrays import IndexKind, index_arrays
from cortex.ilir.plan import Plan
from cortex.linearize import faults

Nodes = npt.NDArray[np.int64]
Values = Mapping[str, Any]


def check_storage(plan: Plan, batch: Values) -> None:
    """Raise `DataError` if a row of a batch holds another node when one is read there; its arrays are long enough.

    What are no nodes of the batch is left to the prelude.
    """
    if not plan.recycled or _has_row_for_each(batch):
        return
    held = np.full(max(min(batch["storage_rows"], batch["num_nodes"]), 0), -1, np.int64)
    before = np.arange(0)
    positions = [batch[each.name] for each in index_arrays(plan) if each.kind is IndexKind.POSITION]
    parts = (batch["batch_begin"], batch["batch_length"], batch["storage_begin"])
    for number, (first, length, place) in enumerate(zip(*map(np.ndarray.tolist, parts), strict=True)):
        if first < 0 or length < 0 or first + length > batch["num_nodes"]:
            return
        if not 0 <= place <= len(held) - length:
            raise faults.storage_beyond(number, place, length, batch["storage_rows"])
        nodes = np.arange(first, first + length)
        held[place : place + length] = nodes
        children = batch["child"][slice(*batch["child_begin"][[first, first + length]])]
        below = (array[first : first + length] for array in positions)
        needed = np.concatenate((nodes, before, children, *below))
        _check_held(batch, held, needed, f"while batch {number} is computed")
        before = nodes
    _check_held(batch, held, batch["roots"].astype(np.int64), "at the end")


def _has_row_for_each(batch: Values) -> bool:
    """Return whether each node is kept in the row of its number."""
    return (
        batch["storage_rows"] == batch["num_nodes"]
        and np.array_equal(batch["storage_begin"], batch["batch_begin"])
        and np.array_equal(batch["storage_row"], np.arange(batch["num_nodes"]))
    )


def _check_held(batch: Values, held: Nodes, nodes: Nodes, when: str) -> None:
    nodes = nodes[(nodes >= 0) & (nodes < batch["num_nodes"])]
    rows = batch["storage_row"][nodes]
    there = (rows >= 0) & (rows < len(held))
    kept = there.copy()
    kept[there] = held[rows[there]] == nodes[there]
    if not kept.all():
        node = int(nodes[np.argmin(kept)])
        raise faults.storage_lost(node, int(batch["storage_row"][node]), when)
