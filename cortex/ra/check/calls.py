"""Recursive calls, which are reads of placeholders: P.2 and P.3 of CORTEX, section 2."""

from __future__ import annotations

from cortex.ra.cases import handles
from cortex.ra.check.after import at_children
from cortex.ra.collect import Recursion
from cortex.ra.expr import Expr
from cortex.ra.node import NodeVar
from cortex.ra.sites import all_reads, sites
from cortex.ra.tensor import Body, Placeholder
from ragged.errors import ModelError


def check_siblings_independent(recursion: Recursion) -> None:
    """P.3: the indices at which a child's result is read do not depend on another child's result."""
    for site, read in all_reads(recursion.at_nodes):
        if isinstance(read.tensor, Placeholder) and any(
            isinstance(i, Expr) and i.calls for i in read.indices
        ):
            raise ModelError(
                f"'{recursion.text(read)}': a recursive call depends on a sibling's result (P.3)",
                at=site.expr.at,
                because="the calls at a node's children must be free to run in any order",
                fix="index a result with indices, numbers and payloads only; choose between values with ra.where",
            )


def check_calls_at_children(recursion: Recursion) -> None:
    """P.2: recursive calls are made at children only."""
    for _, read in all_reads(recursion.at_nodes):
        if isinstance(read.tensor, Placeholder) and isinstance(read.indices[0], NodeVar):
            raise ModelError(
                f"'{recursion.text(read)}': a recursive call at the node itself (P.2)",
                at=read.at,
                because="the result of a node would be needed to compute it",
                fix="call at n.left, n.right, n.child(j), or at all children with ra.sum_children",
            )


def check_no_grandchildren(recursion: Recursion) -> None:
    """P.2: a node reads its children and none of their children."""
    for body in recursion.at_nodes:
        for site in sites(body):
            for handle in handles(site.expr):
                if not isinstance(handle, NodeVar) and not isinstance(handle.node, NodeVar):
                    raise ModelError(
                        f"'{recursion.text(site.expr)}': '{handle.text()}' is no child of "
                        f"'{site.node.text()}' but a grandchild (P.2)",
                        at=site.expr.at,
                        because="a node sees its children, and through their results what is below them",
                        fix="make what you need of the grandchild an output, and read it at the child",
                    )


def check_computes_at_own_node(recursion: Recursion) -> None:
    """A compute is read at its own node; a parent reads its child's results only."""
    for site, read in all_reads(recursion.bodies):
        if (
            isinstance(read.tensor, Body)
            and not isinstance(read.indices[0], NodeVar)
            and not at_children(recursion, site.owner, read.tensor)
        ):
            name = recursion.name(read.tensor)
            raise ModelError(
                f"'{recursion.text(read)}': '{name}' is read at a child",
                at=read.at,
                because="a compute may be read at its own node; a parent sees the results of its children",
                fix=f"make '{name}' an output, and read its placeholder at the child",
            )
