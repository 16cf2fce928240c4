"""What is computed of whole structures, after the recursion."""

from __future__ import annotations

from cortex.ra.base import S
from cortex.ra.collect import Recursion
from cortex.ra.expr import ChildReduce, DenseReduce, NodeReduce, Read
from cortex.ra.node import NodeVar, StructureVar
from cortex.ra.sites import all_reads, sites
from cortex.ra.tensor import Body, Compute
from cortex.ra.walk import subexpressions
from ragged.errors import ModelError


def check_structures_after(recursion: Recursion) -> None:
    """The recursion and its heads read nothing that is computed of whole structures."""
    for body in (*recursion.computes, *recursion.root_computes):
        for _, read in all_reads([body]):
            if S in read.tensor.shape:
                raise ModelError(
                    f"'{recursion.text(read)}': '{recursion.name(body)}' reads what is computed of the whole structure",
                    at=read.at,
                    because="that is known when the recursion has ended, and heads are computed before it",
                    fix='make what reads it a compute over structures or part of one: after={"y": ...}',
                )


def check_after_computes(recursion: Recursion) -> None:
    """What is computed after the recursion has no branches of computes, and reads tensors where they have values."""
    for body in recursion.after_computes:
        name = recursion.name(body)
        if not isinstance(body, Compute):
            raise ModelError(
                f"'{name}' is a branch, and computed after the recursion",
                at=body.at,
                because="it is no output of the recursion, and the loops after that have no cases of nodes",
                fix=f"make '{name}' an output of the recursion, or choose between values with ra.where",
            )
        for site in sites(body):
            match site.expr:
                case NodeReduce(body=inner) if any(
                    isinstance(part, DenseReduce | ChildReduce | NodeReduce) for part in subexpressions(inner)
                ):
                    raise ModelError(
                        f"'{recursion.text(site.expr)}': a reduction inside of one over nodes",
                        at=site.expr.at,
                        because="it has a value for each node",
                        fix="make it a compute of its own, (ra.N, ...), and read that at the node",
                    )
                case Read(tensor=tensor, indices=(NodeVar() as node, *_)) if (
                    isinstance(node, StructureVar) and S not in tensor.shape
                ):
                    raise ModelError(
                        f"'{recursion.text(site.expr)}': '{node.text()}' is a structure",
                        at=site.expr.at,
                        because=f"'{recursion.name(tensor)}' has a value for each node (ra.N)",
                        fix=f"ra.sum_nodes({node.text()}, lambda n: ...), or ra.max_nodes",
                    )
                case _:
                    pass


def at_children(recursion: Recursion, reader: Body, read: Body) -> bool:
    """Return whether `reader` may read `read` at a child: it runs after the recursion, when that is complete."""
    outputs = [body for _, body in recursion.outputs.values()]
    return reader in recursion.after_computes and (read in outputs or read in recursion.after_computes)
