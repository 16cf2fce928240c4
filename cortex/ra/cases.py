"""The cases in which a tensor is computed: at leaves, at nodes of one child, of two, ...

A case is a number of children; the last case of a model, `most`, stands for that many or more. Branches of
`if_then_else` and guards of `ra.where` restrict the cases of the expressions under them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cortex.ra.base import ModelTensor
from cortex.ra.collect import Recursion
from cortex.ra.expr import Expr, IsLeaf, NodeReduce, NumChildren, Read
from cortex.ra.facts import SiteFacts
from cortex.ra.node import ChildAt, Node, NodeVar
from cortex.ra.sites import ExprSite, sites
from cortex.ra.tensor import Body, IfThenElse, Placeholder

Cases: TypeAlias = frozenset[int]


@dataclass(frozen=True, slots=True)
class CaseAnalysis:
    """The cases of each compute of a recursion, and of each expression in them."""

    recursion: Recursion
    most: int = field(init=False)
    computed: Mapping[ModelTensor, Cases] = field(init=False)

    def __post_init__(self) -> None:
        positions = [at.position for body in self.recursion.at_nodes for _, at in child_reads(body)]
        object.__setattr__(self, "most", max(positions, default=-1) + 2)
        object.__setattr__(self, "computed", self._computed())

    def at(self, site: ExprSite) -> Cases:
        """Return the cases in which the expression at a site may be evaluated."""
        owner = self.computed[site.owner]
        here = owner - {0} if site.children else owner
        return self._narrowed(site, here)

    def facts(self, node: NodeVar, case: int) -> SiteFacts:
        """Return what is known of a node in a case."""
        return SiteFacts(node, (case, math.inf if case == self.most else case))

    def _narrowed(self, site: ExprSite, cases: Cases) -> Cases:
        return frozenset(case for case in cases if self.facts(site.node, case).allows(site.guards))

    def _computed(self) -> dict[ModelTensor, Cases]:
        """Propagate cases from the outputs, which are computed at every node, to the tensors that they read."""
        everywhere = frozenset(range(self.most + 1))
        found: dict[ModelTensor, Cases] = {body: frozenset() for body in self.recursion.bodies}
        found.update({body: everywhere for _, body in self.recursion.outputs.values()})
        found.update(dict.fromkeys(self.recursion.heads.values(), everywhere))  # a root may have any number
        found.update(dict.fromkeys(self.recursion.after_computes, everywhere))
        for body in reversed(self.recursion.bodies):
            for tensor, cases in self._needed_by(body, found[body]):
                found[tensor] |= cases
        return found

    def _needed_by(self, body: Body, cases: Cases) -> Iterator[tuple[ModelTensor, Cases]]:
        for site in sites(body):
            if isinstance(site.expr, Read) and isinstance(site.expr.tensor, Body):
                here = cases - {0} if site.children else cases
                yield site.expr.tensor, self._narrowed(site, here)
        if isinstance(body, IfThenElse):
            for branch, taken in ((body.then, True), (body.orelse, False)):
                chosen = ExprSite(body, body.condition, body.node, (), (), ((body.condition, taken),))
                yield branch, self._narrowed(chosen, cases)


def child_reads(body: Body) -> Iterator[tuple[ExprSite, ChildAt]]:
    """Yield each use of a child by its position, with its site."""
    for site in sites(body):
        for handle in handles(site.expr):
            if isinstance(handle, ChildAt):
                yield site, handle


def needed_children(body: Body) -> Iterator[tuple[ExprSite, ChildAt]]:
    """Yield each use of a child by its position that requires the child to exist."""
    for site, child in child_reads(body):
        if not reads_default(site.expr):
            yield site, child


def reads_default(expr: Expr) -> bool:
    """Return whether `expr` reads a result that has a default where there is no child at that position."""
    match expr:
        case Read(tensor=Placeholder(default=default), indices=(ChildAt(), *_)):
            return default is not None
        case _:
            return False


def handles(expr: Expr) -> tuple[Node, ...]:
    """Return the nodes that an expression itself, without its operands, refers to."""
    match expr:
        case Read(indices=indices):
            return tuple(index for index in indices if isinstance(index, Node))
        case IsLeaf(node=node) | NumChildren(node=node):
            return (node,)
        case NodeReduce(structure=structure):
            return (structure,)
        case _:
            return ()
