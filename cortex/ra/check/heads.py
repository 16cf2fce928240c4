"""Heads: what is computed at roots alone, from the outputs at the root."""

from __future__ import annotations

from cortex.ra.cases import handles
from cortex.ra.collect import Recursion
from cortex.ra.expr import ChildReduce
from cortex.ra.node import NodeVar
from cortex.ra.sites import sites
from cortex.ra.tensor import Compute
from ragged.errors import ModelError


def check_heads_named(recursion: Recursion) -> None:
    """A head has a name that no output has, and the recursion does not compute it."""
    for name, body in [*recursion.heads.items(), *recursion.after.items()]:
        if name in recursion.outputs or (name in recursion.heads and name in recursion.after):
            raise ModelError(
                f"recursion_op: two results are called '{name}'",
                at=body.at,
                because="a call returns one array under each name",
                fix="name one otherwise",
            )
        if body in recursion.computes:
            raise ModelError(
                f"recursion_op: the recursion computes the head '{name}'",
                at=body.at,
                because="a head is computed at roots alone, after the recursion",
                fix=f'make it an output, {{"{name}": ...}}, which each node computes; out["{name}"] has its roots',
            )


def check_heads_at_roots(recursion: Recursion) -> None:
    """What heads are made of reads no child, and makes no choice between computes."""
    for body in recursion.root_computes:
        name = recursion.name(body)
        if not isinstance(body, Compute):
            raise ModelError(
                f"'{name}' is a branch, and read by a head",
                at=body.at,
                because="the loop over roots has no cases of nodes",
                fix=f"make '{name}' an output of the recursion, or choose between values with ra.where",
            )
        for site in sites(body):
            children = [h for h in handles(site.expr) if not isinstance(h, NodeVar)]
            if isinstance(site.expr, ChildReduce) or children or body.child is not None:
                raise ModelError(
                    f"'{recursion.text(site.expr)}': '{name}' is read by a head, and reads children",
                    at=site.expr.at or body.at,
                    because="a head reads parameters, and payloads and outputs at the root itself",
                    fix=f"make '{name}' an output of the recursion, which the head reads at the root",
                )
