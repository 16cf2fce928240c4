"""The uninterpreted functions that stand for a batch of structures, and the dimensions of loops over them.

The numbering is the paper's (CORTEX, Appendix B): the nodes of a batch are consecutive and numbered higher
than their parents, leaves above all inner nodes, so that `batch_begin`, `batch_length` and one comparison
replace every pointer. Batch 0 is the leaves; a batch's children lie in batches before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cortex.ilir.class_ranges import ClassRange
from ragged.ir.expr import Dim, Function
from ragged.ir.fact import Fact

NODE = Dim("N")
"""The dimension of all nodes of a batch of structures."""
CHILD = Dim("K")
"""The dimension of a node's children."""
ROOT = Dim("root")
"""The dimension of the roots of a batch of structures."""
STRUCTURE = Dim("S")
"""The dimension of the structures of a batch."""
AFTER = Dim("after")
"""The dimension of all nodes in loops after the recursion, in which every result may be read."""
PLACE = Dim("place")
"""The dimension of the nodes that carry a payload, and of one more that stands for all others."""
BATCH = Dim("batch")
"""The dimension of dynamic batches."""

STEP = Dim("step")
"""The dimension of steps of several heights."""
TOP = Dim("top")
"""The dimension of the top nodes of a step: their parents are in later steps."""


@dataclass(frozen=True, slots=True)
class Carriers:
    """The nodes that carry an integer payload: `count` of them, `node(p)` by rising number, the inner ones first.

    `inner` of them are inner nodes. `place(n)` is p + 1 where node n is `node(p)`, and 0 where it carries nothing.
    """

    count: Function
    inner: Function
    node: Function
    place: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (self.count, self.inner, self.node, self.place)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps in which inner nodes are taken: `count` of them, children before parents.

    Step `s` is `heights` heights, those above `s * heights`; leaves have height 0. `top(t)` for
    `top_begin(s) <= t < top_begin(s + 1)`, `tops(s)` of them, are its top nodes: the parent is in a later step. All
    other nodes of the step are their descendants. `group(n)` is the `t` of the top that `n` is or descends from in its
    step, and -1 at a leaf.
    """

    heights: int
    count: Function
    top_count: Function
    top_begin: Function
    tops: Function
    top: Function
    height: Function
    group: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (
            self.count,
            self.top_count,
            self.top_begin,
            self.tops,
            self.top,
            self.height,
            self.group,
        )


@dataclass(frozen=True, slots=True)
class Storage:
    """The rows that nodes are kept in: `rows` of them, node n in `row(n)`, those of batch b from `begin(b)` on.

    A row is another node's only in batches after those of all parents of the one before, and not in the one after its
    own; that of a root never is.
    """

    rows: Function
    begin: Function
    row: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (self.rows, self.begin, self.row)


@dataclass(frozen=True, slots=True)
class Members:
    """The nodes of each structure: `node(m)` for `begin(s)` <= m < `begin(s + 1)`, in post-order.

    `structures` is how many structures there are, `nodes(s)` how many nodes structure s has, and `of(n)` the structure
    of node n.
    """

    structures: Function
    begin: Function
    nodes: Function
    node: Function
    of: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (self.structures, self.begin, self.nodes, self.node, self.of)


@dataclass(frozen=True, slots=True)
class StructureFunctions:
    """The functions of one plan, by the names of `Linearized`'s arrays, and their facts.

    `positions[j]` gives an inner node's j-th child; `payloads` the integer payloads, which index tables; `carriers`
    the nodes that carry one, where the plan lists them; `steps` are those of an unrolled plan; `classes` has the range
    of nodes of each of the plan's classes in a batch; `members` has the nodes of each structure where the plan asks for
    them; `storage` has the row of each node where the plan reuses rows.
    """

    num_nodes: Function
    num_inner: Function
    num_edges: Function
    num_batches: Function
    num_roots: Function
    widest_nodes: Function
    widest_edges: Function
    batch_begin: Function
    batch_length: Function
    batch_edges: Function
    child_begin: Function
    child: Function
    num_children: Function
    roots: Function
    positions: Mapping[int, Function]
    payloads: Mapping[str, Function]
    carriers: Mapping[str, Carriers]
    steps: Steps | None
    classes: tuple[ClassRange, ...]
    members: Members | None
    storage: Storage | None
    facts: tuple[Fact, ...]

    def all(self) -> tuple[Function, ...]:
        """Every function, in the order of a program's arguments."""
        return (
            self.num_nodes,
            self.num_inner,
            self.num_edges,
            self.num_batches,
            self.num_roots,
            self.widest_nodes,
            self.widest_edges,
            self.batch_begin,
            self.batch_length,
            self.child_begin,
            self.child,
            self.num_children,
            self.batch_edges,
            self.roots,
            *self.positions.values(),
            *self.payloads.values(),
            *(function for listed in self.carriers.values() for function in listed.all()),
            *(() if self.steps is None else self.steps.all()),
            *(function for nodes in self.classes for function in nodes.all()),
            *(() if self.members is None else self.members.all()),
            *(() if self.storage is None else self.storage.all()),
        )
