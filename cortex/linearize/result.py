"""What linearizing gives: the arrays that a kernel walks, and the way back to the caller's nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cortex.ilir.plan import Plan

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Linearized:
    """A batch of structures as arrays: C-contiguous, owned by it, and changed by no later call.

    Node ids follow Appendix B of the CORTEX paper: by falling height, then structure, then post-order row. So
    leaves have the highest ids (`n >= num_inner`), a child's id is above its parent's, and the nodes of one
    height are consecutive. Batch b holds the nodes of height b, `batch_begin[b]` and on; batch 0 is the
    leaves. There is always a batch 0, which an empty batch of structures leaves empty.

    Shapes, all int32 but the payloads:
    batch_begin, batch_length (num_batches,); child_begin (num_nodes + 1,) and child (num_edges,), the children
    of each node in order; positions[j] (num_inner,), each inner node's j-th child or -1; payloads[name]
    (num_nodes, *shape) by node id; carriers[name], the ids of the nodes that carry a payload that the plan
    lists, rising, and how many of them are inner nodes; roots (number of roots,) as node ids and root_begin
    (num_structures + 1,); rows (num_nodes,), the node id of each post-order row, and row_begin
    (num_structures + 1,); keys, for each row the caller's node, token, label or number.

    A plan that is unrolled by d takes the inner nodes in steps of d + 1 heights, from height 1 up. step_end
    (num_steps,) is the id after the highest one in a step; step_top (num_tops,) has the nodes of each step whose
    parent is not in it, rising, from top_begin (num_steps + 1,) on. Any other plan has no steps.
    """

    plan: Plan
    num_structures: int
    num_nodes: int
    num_inner: int
    num_edges: int
    num_batches: int
    batch_begin: Ints
    batch_length: Ints
    child_begin: Ints
    child: Ints
    positions: dict[int, Ints]
    payloads: dict[str, npt.NDArray[Any]]
    carriers: dict[str, tuple[Ints, int]]
    num_steps: int
    num_tops: int
    step_end: Ints
    top_begin: Ints
    step_top: Ints
    roots: Ints
    root_begin: Ints
    rows: Ints
    row_begin: Ints
    keys: list[object]
