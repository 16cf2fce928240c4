"""What linearizing gives: the arrays that a kernel walks, and the way back to the caller's nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cortex.ilir.plan import Plan
from cortex.linearize.lengths import check_lengths
from cortex.linearize.storage import check_storage

Ints = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]


class WayBack(NamedTuple):
    """From the numbers of a batch to its caller's nodes, which results need: arrays as in `Linearized`."""

    num_structures: int
    roots: Ints
    rows: Ints
    row_begin: Ints
    row_keys: list[object] | Ints

    def keys_between(self, begin: int, end: int) -> list[object]:
        """Return the keys of the rows from begin to end."""
        keys = self.row_keys[begin:end]
        return keys if isinstance(keys, list) else keys.tolist()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Linearized:
    """A batch of structures as arrays: C-contiguous, owned by it, and changed by no later call.

    What `Linearizer.lend` returns is another matter: its payloads that are lent are the callers' memory, read-only and
    of one dimension, with anything between the nodes' values, and held as long as the batch is.

    Node ids follow Appendix B of the CORTEX paper: by falling height, batch, class, structure, post-order row (where
    storage is recycled, see below, by when nodes are needed last before the structure). So
    leaves have the highest ids (`n >= num_inner`), a child's id is above its parent's, and the nodes of one
    height are consecutive. Batch b holds the nodes of height b, `batch_begin[b]` and on; batch 0 is the
    leaves. A plan that says how wide a batch may be has several, one after another, for a height of more inner
    nodes, each with a part of every quarter of these, by structure and row, before classes are told apart.
    There is always a batch 0, which an empty batch of structures leaves empty. Of the batches after it, the widest
    has widest_nodes nodes, and widest_edges edges lead out of those of the one with the most.

    Shapes, all int32 but the payloads:
    batch_begin, batch_length (num_batches,); child_begin (num_nodes + 1,) and child (num_edges,), the children
    of each node in order; positions[j] (num_inner,), each inner node's j-th child or -1; payloads[name]
    (num_nodes, *shape) by node id; payload_begin[name] (num_nodes,), int64, for each that is a vector of floats
    how many elements of it come before each node's; carriers[name], the ids of the nodes that carry a payload that
    the plan lists, rising, how many of them are inner nodes, and (num_nodes,) the place of each node among them from
    1 up, 0 of one that carries none; roots (number of roots,) as node ids and root_begin
    (num_structures + 1,); rows (num_nodes,), the node id of each post-order row, and row_begin
    (num_structures + 1,); row_keys, for each row the caller's node, token, label or number: a list, or an array
    where all are numbers.

    A plan that is unrolled by d takes the inner nodes in steps of d + 1 heights, from height 1 up. step_top
    (num_tops,) has the nodes of each step whose parent is not in it, rising, from top_begin (num_steps + 1,) on.
    height (num_nodes,) is that of each node, 0 for leaves, and step_group (num_nodes,) says of an inner node which
    top, as a place in step_top, it is or is below of in the same step; -1 for leaves. Any other plan has no steps, and
    these are empty.

    A plan with classes tells nodes of one batch apart: class_length[c] (num_batches,) says how many nodes of each
    batch are of class c, which come after those of classes before it. The last class has what is left of a batch.

    A plan that is recycled has nodes of one batch and class sorted by when they are needed last: the first half of
    them, by row, with the latest first, and the other half with the latest last. What a kernel keeps of node n may
    stand in row storage_row[n] of storage_rows rows; those of batch b are storage_begin[b] (num_batches,) and on, one
    after another. Two nodes have one row only if all parents of the one are in batches before the other's, its own is
    not the one right before that, and it is no root. Each batch is in the middle of the first free rows that are
    enough: so workers that share a batch out find rows that were their own. Any other plan has no rows, and these are
    empty.
    """

    plan: Plan
    num_structures: int
    num_nodes: int
    num_inner: int
    num_edges: int
    num_batches: int
    widest_nodes: int
    widest_edges: int
    batch_begin: Ints
    batch_length: Ints
    child_begin: Ints
    child: Ints
    positions: dict[int, Ints]
    payloads: dict[str, npt.NDArray[Any]]
    payload_begin: dict[str, Offsets]
    carriers: dict[str, tuple[Ints, int, Ints]]
    num_steps: int
    num_tops: int
    top_begin: Ints
    step_top: Ints
    height: Ints
    step_group: Ints
    class_length: tuple[Ints, ...]
    storage_rows: int
    storage_begin: Ints
    storage_row: Ints
    roots: Ints
    root_begin: Ints
    rows: Ints
    row_begin: Ints
    row_keys: list[object] | Ints

    def __post_init__(self) -> None:
        """Refuse arrays and sizes that do not fit: who exchanges some comes here, the native linearizer does not."""
        check_lengths(self)
        check_storage(self)

    @property
    def num_roots(self) -> int:
        """How many roots there are."""
        return len(self.roots)

    @property
    def keys(self) -> list[object]:
        """For each row the caller's node, token, label or number."""
        keys = self.row_keys
        return keys[:] if isinstance(keys, list) else keys.tolist()

    def __repr__(self) -> str:
        """Return how much there is of everything; the arrays are attributes."""
        counts = f"{self.num_structures} structures, {self.num_nodes} nodes, {self.num_edges} edges"
        return f"Linearized({counts}, {self.num_batches} batches)"
