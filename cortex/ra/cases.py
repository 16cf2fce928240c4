"""The cases in which a tensor is computed: at leaves, at nodes of one child, of two, ...

A case is a number of children; the last case of a model, `most`, stands for that many or more. Branches of
`if_then_else` and guards of `ra.where` restrict the cases of the expressions under them. Branches on payloads restrict
the payloads of the nodes at which a tensor is computed.
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
from cortex.ra.tensor import Body, IfThenElse, NodeInput, Placeholder
from ragged.arith.intervals import ANYTHING, Interval, hull

Cases: TypeAlias = frozenset[int]
Payloads: TypeAlias = Mapping[NodeInput, Interval]
"""Of integer payloads, the interval of the values that a node may carry; any value of those that are not there."""


@dataclass(frozen=True, slots=True)
class CaseAnalysis:
    """The cases of each compute of a recursion, and of each expression in them.

    `carried` are the payloads of the nodes at which a tensor is computed, as the branches around it choose them.
    """

    recursion: Recursion
    most: int = field(init=False)
    carried: Mapping[ModelTensor, Payloads] = field(init=False)
    computed: Mapping[ModelTensor, Cases] = field(init=False)

    def __post_init__(self) -> None:
        positions = [at.position for body in self.recursion.at_nodes for _, at in child_reads(body)]
        object.__setattr__(self, "most", max(positions, default=-1) + 2)
        object.__setattr__(self, "carried", self._carried())
        object.__setattr__(self, "computed", self._computed())

    def at(self, site: ExprSite) -> Cases:
        """Return the cases in which the expression at a site may be evaluated."""
        owner = self.computed[site.owner]
        here = owner - {0} if site.children else owner
        return self._narrowed(site, here)

    def facts(self, node: NodeVar, case: int) -> SiteFacts:
        """Return what is known of a node in a case."""
        return SiteFacts(node, (case, math.inf if case == self.most else case))

    def known(self, body: Body) -> dict[object, Interval]:
        """Return the intervals of payloads at the node where a tensor is computed, by the keys of `SiteFacts`."""
        return _known(body, self.carried[body])

    def _narrowed(self, site: ExprSite, cases: Cases) -> Cases:
        return frozenset(case for case in cases if self.facts(site.node, case).allows(site.guards))

    def _carried(self) -> dict[ModelTensor, Payloads]:
        """Propagate what branches say of payloads, from the outputs to the tensors that they read at the same node."""
        recursion = self.recursion
        roots = (*(body for _, body in recursion.outputs.values()), *recursion.heads.values())
        found: dict[ModelTensor, Payloads] = {body: {} for body in (*roots, *recursion.after_computes)}
        for body in reversed(recursion.bodies):
            for tensor, carried in self._carried_by(body, found.get(body, {})):
                found[tensor] = _either(found[tensor], carried) if tensor in found else carried
        return {body: found.get(body, {}) for body in recursion.bodies}

    def _carried_by(self, body: Body, carried: Payloads) -> Iterator[tuple[ModelTensor, Payloads]]:
        for site in sites(body):
            if isinstance(site.expr, Read) and isinstance(site.expr.tensor, Body):
                yield site.expr.tensor, carried if site.expr.indices[0] is body.node else {}
        if isinstance(body, IfThenElse):
            facts = SiteFacts(body.node, known=_known(body, carried))
            for branch, taken in ((body.then, True), (body.orelse, False)):
                known = facts.given(body.condition, taken).known
                spans = {t: known.get((t, body.node), ANYTHING) for t in self.recursion.payloads.values()}
                yield branch, {tensor: span for tensor, span in spans.items() if span != ANYTHING}

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


def _known(body: Body, carried: Payloads) -> dict[object, Interval]:
    return {(tensor, body.node): span for tensor, span in carried.items()}


def _either(one: Payloads, other: Payloads) -> Payloads:
    """Return the hull of both, for the payloads that both have."""
    return {tensor: hull((span, other[tensor])) for tensor, span in one.items() if tensor in other}


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
