"""Indices that may leave their dimension, and the range that this implies for payloads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from cortex.ra.cases import CaseAnalysis
from cortex.ra.expr import BinaryExpr, Expr, Literal, Read
from cortex.ra.facts import SiteFacts, value_key
from cortex.ra.sites import ExprSite, all_reads
from cortex.ra.structure import most_children
from cortex.ra.tensor import NodeInput
from ragged.arith.intervals import Interval
from ragged.ir.dtype import INDEX
from ragged.ir.ops import BinaryOp


@dataclass(frozen=True, slots=True)
class Lookup:
    """An index that may leave its dimension: `expr`, at dimension `axis` (of `extent` elements) of `read`.

    `reached` is the interval of the index as far as it is known. If the index is a payload plus a constant, `payload`
    is the read of that payload and `allowed` the values of the payload for which the index stays inside. `known` are
    the intervals of payloads that branches leave.
    """

    site: ExprSite
    read: Read
    axis: int
    extent: int
    expr: Expr
    reached: Interval
    payload: Read | None
    allowed: tuple[int, int]
    known: Mapping[object, Interval]

    @property
    def default_may_reach(self) -> bool:
        """Whether the index may be evaluated with the payload's default: no guard excludes it."""
        if self.payload is None or not isinstance(self.payload.tensor, NodeInput):
            return False
        default = self.payload.tensor.default
        if default is None:
            return False
        facts = SiteFacts(self.site.node, known=self.known)
        low, high = facts.interval(self.payload)
        known = {**self.known, value_key(self.payload): (default, default)}
        return low <= default <= high and replace(facts, known=known).allows(self.site.guards)


def lookups(analysis: CaseAnalysis) -> Iterator[Lookup]:
    """Yield each index of the model that is not known to stay inside its dimension."""
    for site, read in all_reads(analysis.recursion.bodies):
        yield from _of_read(analysis, site, read)


def payload_range(analysis: CaseAnalysis, tensor: NodeInput) -> tuple[int, int] | None:
    """Return the least and largest payload value that all tables it indexes allow; None if it indexes none."""
    found = list(lookups(analysis))
    allowed = [f.allowed for f in found if f.payload is not None and f.payload.tensor is tensor]
    if not allowed:
        return None
    return max(low for low, _ in allowed), min(high for _, high in allowed)


def _of_read(analysis: CaseAnalysis, site: ExprSite, read: Read) -> Iterator[Lookup]:
    cases = analysis.at(site)
    if not cases:
        return
    limit = most_children(analysis.recursion.structure)
    unknown = math.inf if limit is None else max(limit, analysis.most)
    most = unknown if analysis.most in cases else max(cases)
    carried = analysis.known(site.owner)
    facts = SiteFacts(site.node, (min(cases), most), carried).under(site.guards)
    if not facts.reachable:
        return
    for axis, (index, extent) in enumerate(zip(read.indices, read.tensor.shape, strict=True)):
        if not isinstance(index, Expr) or not isinstance(extent, int):
            continue
        reached = facts.interval(index)
        if reached[0] < 0 or reached[1] >= extent:
            payload, shift = _payload_plus(index)
            within = reached if payload is None else facts.interval(payload)
            # a guard may exclude numbers that are no index, as those of another table, but not negative ones
            low = -shift if within[0] < -shift else min(-shift, 0)
            high = extent - 1 - shift if within[1] > extent - 1 - shift else _largest(payload)
            yield Lookup(site, read, axis, extent, index, reached, payload, (low, high), carried)


def _payload_plus(expr: Expr) -> tuple[Read | None, int]:
    """Return the payload and the constant that `expr` adds, or no payload."""
    match expr:
        case Read(tensor=NodeInput()):
            return expr, 0
        case BinaryExpr(
            op=BinaryOp.ADD | BinaryOp.SUB as op, lhs=Read(tensor=NodeInput()) as read, rhs=Literal(value=c)
        ):
            return read, int(c) if op is BinaryOp.ADD else -int(c)
        case BinaryExpr(op=BinaryOp.ADD, lhs=Literal(value=c), rhs=Read(tensor=NodeInput()) as read):
            return read, int(c)
        case _:
            return None, 0


def _largest(payload: Read | None) -> int:
    """Return the largest value of the payload's dtype after which int64 has another one."""
    dtype = INDEX if payload is None else payload.tensor.dtype
    return int(min(np.iinfo(dtype.value).max, np.iinfo(np.int64).max - 1))
