"""Structures as flat arrays: topology in compressed rows, and one array for each payload."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cortex.linearize.tensors import payload_rows, read_array
from ragged.errors import DataError

_LIMIT = 2**31 - 1


class Forest:
    """Any number of structures over nodes numbered 0..n-1 in any order.

    `child_begin` (n + 1,) and `child` (edges,): the children of node v are child[child_begin[v] :
    child_begin[v + 1]], in order; -1 stands for a missing child. `structure_begin` (structures + 1,): structure
    s has the nodes structure_begin[s] to structure_begin[s + 1] - 1. Without it each root is a structure where
    the model takes trees or sequences, and all nodes together are one where it takes DAGs. Roots are the nodes
    without a parent. A payload is an array (n, ...), row v for node v; torch tensors and lists are taken too.

    Topology is kept as int32 and shared with the caller where it is that already; payloads are shared. The
    arrays are checked when they are linearized; here a `DataError` says what is no array of integers.

    >>> Forest([0, 2, 2, 2], [1, 2], word=[-1, 4, 5]).num_nodes
    3
    """

    __slots__ = ("_child", "_child_begin", "_payloads", "_structure_begin")

    def __init__(
        self,
        child_begin: npt.ArrayLike,
        child: npt.ArrayLike,
        structure_begin: npt.ArrayLike | None = None,
        **payloads: npt.ArrayLike,
    ) -> None:
        self._child_begin = _topology("child_begin", child_begin)
        self._child = _topology("child", child)
        self._structure_begin = (
            None if structure_begin is None else _topology("structure_begin", structure_begin)
        )
        if not self._child_begin.size:
            raise DataError(
                "Forest: child_begin is empty",
                because="it has one element more than there are nodes",
                fix="[0]",
            )
        self._payloads = {name: payload_rows("Forest", name, value) for name, value in payloads.items()}

    @classmethod
    def from_parents(
        cls,
        parents: npt.ArrayLike,
        structure_begin: npt.ArrayLike | None = None,
        **payloads: npt.ArrayLike,
    ) -> Forest:
        """Make a forest of trees from each node's parent (n,), -1 for a root; children by rising number."""
        parent = _topology("parents", parents)
        if ((parent < -1) | (parent >= parent.size)).any():
            node = int(np.flatnonzero((parent < -1) | (parent >= parent.size))[0])
            raise DataError(
                f"Forest: the parent of node {node} is {parent[node]}",
                because=f"the nodes are 0 to {parent.size - 1}, and -1 says that a node has no parent",
                fix="number the nodes from 0",
            )
        below = parent >= 0
        child = np.flatnonzero(below)[np.argsort(parent[below], kind="stable")]
        begin = np.zeros(parent.size + 1, np.int64)
        np.cumsum(np.bincount(parent[below], minlength=parent.size), out=begin[1:])
        return cls(begin, child, structure_begin, **payloads)

    @classmethod
    def from_edges(
        cls,
        edges: npt.ArrayLike,
        batch: npt.ArrayLike | None = None,
        *,
        edges_to: Literal["parents", "children"] = "parents",
        **payloads: npt.ArrayLike,
    ) -> Forest:
        """Make a forest of pairs of nodes, as PyTorch Geometric has them; children in the order of their edges.

        Args:
            edges: (2, edges), nodes from which and nodes to which an edge goes.
            batch: (nodes,), the number of each node's structure, from 0 and never falling; without it as in `Forest`.
            edges_to: "parents" where edges go from a child to its parent, as messages do; "children" where they go from
                a node to its children.
            payloads: arrays (nodes, ...). Without these and `batch` the last node is that of some edge.

        Raises:
            DataError: `edges` is of another shape, or names what is no node; `batch` falls or leaves a number out.

        >>> Forest.from_edges([[1, 2], [0, 0]], word=[-1, 4, 5]).child.tolist()
        [1, 2]
        """
        pairs = read_array("Forest.from_edges", "edges", edges)
        if pairs.ndim != 2 or len(pairs) != 2 or edges_to not in ("parents", "children"):
            raise DataError(
                f"Forest.from_edges: edges of shape {pairs.shape}, to {edges_to!r}",
                because="they are (2, edges), and go to parents or to children",
                fix="edges.T, if a row is an edge",
            )
        child, parent = (_topology("edges", row) for row in (pairs if edges_to == "parents" else pairs[::-1]))
        sized = [value for value in (batch, *payloads.values()) if value is not None]
        nodes = len(payload_rows("Forest", "batch", sized[0])) if sized else int(pairs.max(initial=-1)) + 1
        if batch is not None and any(len(payload_rows("Forest", "batch", each)) != nodes for each in sized):
            raise DataError(
                f"Forest.from_edges: batch has {nodes} numbers, and payloads have another number of rows",
                because="each has one for each node",
            )
        wrong = pairs[(pairs < 0) | (pairs >= nodes)]
        if wrong.size:
            raise DataError(
                f"Forest.from_edges: an edge has the end {wrong[0]}",
                because=f"the nodes are 0 to {nodes - 1}, one for each row of the payloads",
                fix="number the nodes from 0",
            )
        begin = np.zeros(nodes + 1, np.int64)
        np.cumsum(np.bincount(parent, minlength=nodes), out=begin[1:])
        structures = None if batch is None else _begins(_topology("batch", batch))
        return cls(begin, child[np.argsort(parent, kind="stable")], structures, **payloads)

    @property
    def child_begin(self) -> npt.NDArray[np.int32]:
        """Where each node's children begin in `child`: (num_nodes + 1,)."""
        return self._child_begin

    @property
    def child(self) -> npt.NDArray[np.int32]:
        """The children of all nodes: (edges,)."""
        return self._child

    @property
    def structure_begin(self) -> npt.NDArray[np.int32] | None:
        """The first node of each structure and the number of nodes: (structures + 1,), or None."""
        return self._structure_begin

    @property
    def payloads(self) -> dict[str, npt.NDArray[Any]]:
        """The payloads by name, each (num_nodes, ...); not to be changed."""
        return self._payloads

    @property
    def num_nodes(self) -> int:
        """The number of nodes of all structures together."""
        return self.child_begin.size - 1

    def __repr__(self) -> str:
        parts = [f"{self.num_nodes} nodes", f"{self.child.size} edges", *self.payloads]
        return f"Forest({', '.join(parts)})"


def _topology(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int32]:
    array = read_array("Forest", name, value)
    if array.ndim == 1 and array.size == 0 and array.dtype == np.float64:
        array = array.astype(np.int32)  # what NumPy makes of []
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"Forest: {name} is a {array.ndim}-D array of dtype {array.dtype}",
            because="topology is 1-D arrays of integers",
            fix=f"{name} = numpy.asarray({name}, numpy.int32)",
        )
    if array.size and (int(array.max()) > _LIMIT or int(array.min()) < -1):
        raise DataError(
            f"Forest: {name} holds numbers outside -1 to {_LIMIT}",
            because="the kernel counts nodes in 32 bits",
        )
    return np.ascontiguousarray(array, np.int32)


def _begins(batch: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Return where each structure begins, and the number of nodes."""
    steps = np.diff(batch, prepend=-1)
    wrong = (steps < 0) | (steps > 1) | (batch < 0)
    if wrong.any():
        node = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"Forest.from_edges: batch[{node}] is {batch[node]}",
            because="nodes of a structure are consecutive, and structures are numbered from 0 without a gap",
            fix="sort the nodes by structure",
        )
    return np.append(np.flatnonzero(steps), batch.size)
