"""What depends on no child: computed at all nodes together, before the recursion.

The input projections of a model, W x_n, are one large product that way and not a small one in every batch. Where a node
carries no input they are zero, and the product leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from cortex.ilir.structure import NODE, StructureFunctions
from cortex.ra import expr as ra
from cortex.ra.base import Tensor
from cortex.ra.cases import handles
from cortex.ra.collect import reads
from cortex.ra.demands import carried_by
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.constants import Constants
from cortex.ra.lower.known import Decisions, subject
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.tables import Tables
from cortex.ra.lower.zeros import Zeros
from cortex.ra.model import Model
from cortex.ra.node import NodeVar
from cortex.ra.tensor import Compute, InputTensor, NodeInput
from ragged.ir.expr import Buffer, Call, Const, Expr, Ref, Var, add, sub
from ragged.ir.stmt import For, Let, LoopKind, Stmt, block

_NodeAt = Callable[[Expr], Expr]
_Nest = Callable[[Compute, Expr], Stmt]
Domain = frozenset[bool]
"""The nodes at which something is needed: leaves (True), inner nodes (False), or both."""


def independent(model: Model, tabulated: Collection[Tensor] = ()) -> tuple[Compute, ...]:
    """Return the computes that reduce and depend on no child, and what they read, each after what it reads.

    What is `tabulated` is there already, and asks for nothing.
    """
    results = {body for _, body in model.outputs.values()}
    found = alone(model, results)
    wanted: set[Tensor] = set()
    for body in reversed(model.computes):
        if body in found and body not in tabulated and (body in wanted or _reduces(body)):
            wanted |= {body, *(t for t in reads(body) if t in found and t not in tabulated)}
    return tuple(body for body in model.computes if body in wanted and isinstance(body, Compute))


def alone(model: Model, but: Collection[Tensor] = ()) -> set[Tensor]:
    """Return the computes that read only parameters, what their own node carries, and each other; none of `but`."""
    found: set[Tensor] = set()
    for body in model.computes:
        if isinstance(body, Compute) and body not in but and _is_alone(body, found):
            found.add(body)
    return found


def without(
    computes: tuple[Compute, ...], asked: Collection[str | None], tabulated: Collection[Tensor] = ()
) -> tuple[Compute, ...]:
    """Return those of `computes` that depend on none of these payloads, directly or through another of them.

    Where nodes are told apart by a payload, what depends on it is done for each class. What is `tabulated` is done.
    """
    kept: dict[Compute, None] = {}
    for compute in computes:
        found = (subject(expr) for expr in ra.subexpressions(compute.body))
        own = {name for name, is_one in found if is_one}
        if own.isdisjoint(asked) and all(
            t in kept or t in tabulated for t in reads(compute) if isinstance(t, Compute)
        ):
            kept[compute] = None
    return tuple(kept)


def _is_alone(compute: Compute, alone: set[Tensor]) -> bool:
    """Return whether a compute reads only parameters, what its own node carries, and other such computes."""
    if compute.child is not None or compute.calls or compute.body.calls:
        return False
    for expr in ra.subexpressions(compute.body):
        if isinstance(expr, ra.IsLeaf | ra.NumChildren | ra.ChildReduce):
            return False
        if any(not isinstance(node, NodeVar) for node in handles(expr)):
            return False
        given = isinstance(expr, ra.Read) and isinstance(expr.tensor, InputTensor | NodeInput)
        if isinstance(expr, ra.Read) and not given and expr.tensor not in alone:
            return False
    return True


def _reduces(body: Tensor) -> bool:
    return isinstance(body, Compute) and any(
        isinstance(expr, ra.DenseReduce) for expr in ra.subexpressions(body.body)
    )


@dataclass
class Inputs:
    """Writes the loops of the computes that are hoisted; `needed` says where the cases ask for each.

    What they read and that is not among them is in a table, or the same at all nodes.
    """

    model: Model
    functions: StructureFunctions
    buffers: Buffers
    hoisted: tuple[Compute, ...]
    constants: Constants
    tables: Tables
    needed: dict[Compute, set[bool]] = field(default_factory=dict)
    finite: set[InputTensor] = field(default_factory=set)

    @property
    def written(self) -> dict[Compute, Buffer]:
        """The buffer that holds each hoisted compute."""
        return {compute: self.buffers.temporary(compute) for compute in self.hoisted}

    def ask(self, compute: Compute, leaf: bool | None) -> None:
        """Note that a case of leaves, of inner nodes, or of all needs a compute."""
        self.needed.setdefault(compute, set()).update((True, False) if leaf is None else (leaf,))

    def stmts(self) -> Stmt:
        """Return the loops over nodes that compute what was asked for, and what that reads."""
        for compute in reversed(self.hoisted):
            for tensor in reads(compute):
                if tensor in self.hoisted and compute in self.needed:
                    self.needed.setdefault(tensor, set()).update(self.needed[compute])
        asked = [compute for compute in self.hoisted if compute in self.needed]
        parts: list[Stmt] = []
        for (domain, payload), group in groupby(asked, self._where):
            parts += self._group(domain, payload, list(group))
        return block(*parts)

    def _where(self, compute: Compute) -> tuple[Domain, str | None]:
        """Return the nodes that a compute is needed at, and the payload without which it is zero, if there is one."""
        domain = frozenset(self.needed[compute])
        if not _reduces(compute):
            return domain, None
        carriers = self.functions.carriers
        return domain, next((name for name in carriers if self._is_zero_without(compute, name)), None)

    def _is_zero_without(self, compute: Compute, payload: str) -> bool:
        def decide(condition: ra.Expr) -> bool | None:
            carried = carried_by(condition)
            return False if carried is not None and carried.name == payload else None

        zeros = Zeros(decide)
        if not zeros.holds(compute.body):
            return False
        self.finite |= zeros.finite
        return True

    def _group(self, domain: Domain, payload: str | None, computes: list[Compute]) -> Iterator[Stmt]:
        if payload is None:
            yield self._over(*self._nodes(domain), lambda place: place, computes, self._value)
            return
        listed = self.functions.carriers[payload]
        yield self._over(*self._nodes(domain), lambda place: place, computes, self._zero)
        begin, extent = _part(domain, Call(listed.inner), Call(listed.count))
        yield self._over(begin, extent, lambda place: Call(listed.node, (place,)), computes, self._value)

    def _nodes(self, domain: Domain) -> tuple[Expr, Expr]:
        return _part(domain, Call(self.functions.num_inner), Call(self.functions.num_nodes))

    def _over(
        self, begin: Expr, extent: Expr, node_at: _NodeAt, computes: list[Compute], nest: _Nest
    ) -> Stmt:
        """Return the loop over places from `begin` on with the nests of each of `computes` at the node of each."""
        step, node = Var("n"), Var("node")
        body = block(*(nest(compute, Ref(node)) for compute in computes))
        return For(step, extent, Let(node, node_at(add(begin, Ref(step))), body), LoopKind.PARALLEL, NODE)

    def _value(self, compute: Compute, node: Expr) -> Stmt:
        nests = Nests(self.buffers, Decisions(), self._result, node)
        return nests.compute(compute, self.buffers.temporary(compute))

    def _zero(self, compute: Compute, node: Expr) -> Stmt:
        nests = Nests(self.buffers, Decisions(), self._result, node)
        return nests.fill(compute, self.buffers.temporary(compute), 0.0)

    def _result(self, tensor: Tensor) -> Buffer:
        assert isinstance(tensor, Compute)
        if self.tables.holds(tensor):
            return self.tables.buffer(tensor)
        if tensor not in self.hoisted:
            return self.constants.buffer(self.constants.everywhere, tensor)
        return self.buffers.temporary(tensor)


def _part(domain: Domain, inner: Expr, total: Expr) -> tuple[Expr, Expr]:
    """Return where the nodes of a domain begin and how many there are: inner ones are numbered first."""
    match sorted(domain):
        case [False]:
            return Const(0), inner
        case [True]:
            return inner, sub(total, inner)
        case _:
            return Const(0), total
