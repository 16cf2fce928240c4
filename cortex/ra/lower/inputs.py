"""Computes that depend on no child, hoisted before the recursion: one loop over nodes of all heights.

The input projections of a model, W x_n, become one large product instead of a small one in every batch, and are left
out at nodes without the input, where they are zero. Leaves of trees, which already are one large batch, compute theirs
in place: hoisting would write and read values that otherwise stay in registers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from cortex.ilir.structure import NODE, PLACE, StructureFunctions
from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor
from cortex.ra.cases import CaseAnalysis, handles
from cortex.ra.collect import reads
from cortex.ra.demands import carried_by
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case_facts import CaseFacts, subject
from cortex.ra.lower.constants import Constants
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.tables import LookupTables
from cortex.ra.lower.translate import Carrier
from cortex.ra.lower.zeros import Zeros
from cortex.ra.model import Model
from cortex.ra.node import NodeVar
from cortex.ra.structure import Tree
from cortex.ra.tensor import Compute, InputTensor, NodeInput
from cortex.ra.walk import subexpressions
from ragged.ir.build import add, sub
from ragged.ir.expr import Buffer, Call, Const, Expr, Ref, Var
from ragged.ir.stmt import For, Let, LoopKind, Stmt, block

Domain = frozenset[bool]
"""The nodes at which a compute is needed: leaves (True), inner nodes (False), or both."""


def independent(model: Model, tabulated: Collection[ModelTensor] = ()) -> tuple[Compute, ...]:
    """Return the computes that reduce and depend on no child, and their sources, in topological order.

    Computes in `tabulated` are excluded: their tables exist already.
    """
    results = {body for _, body in model.outputs.values()}
    found = alone(model, results)
    wanted: set[ModelTensor] = set()
    for body in reversed(model.computes):
        if body in found and body not in tabulated and (body in wanted or _reduces(body)):
            wanted |= {body, *(t for t in reads(body) if t in found and t not in tabulated)}
    return tuple(body for body in model.computes if body in wanted and isinstance(body, Compute))


def alone(model: Model, but: Collection[ModelTensor] = ()) -> set[ModelTensor]:
    """Return the computes that read parameters, their own node's payloads, and each other only; `but` are excluded.

    A compute that reads a payload by which branches choose it is left out: at other nodes it may look up rows that no
    table has.
    """
    chosen, found = chosen_by_payload(model), set[ModelTensor]()
    for body in model.computes:
        if isinstance(body, Compute) and body not in (*but, *chosen) and _is_alone(body, found):
            found.add(body)
    return found


def chosen_by_payload(model: Model) -> dict[ModelTensor, NodeInput]:
    """Return the computes that a branch on a payload chooses and that read this payload, with the payload."""
    carried = CaseAnalysis(model).carried
    return {
        body: expr.tensor
        for body in model.computes
        if isinstance(body, Compute)
        for expr in subexpressions(body.body)
        if isinstance(expr, ra.Read) and isinstance(expr.tensor, NodeInput) and expr.tensor in carried[body]
    }


def without(
    computes: tuple[Compute, ...], asked: Collection[str | None], tabulated: Collection[ModelTensor] = ()
) -> tuple[Compute, ...]:
    """Return those of `computes` that depend, directly or through others, on none of the `asked` payloads.

    A compute that depends on a payload by which nodes are specialized is computed in each class instead.
    """
    kept: dict[Compute, None] = {}
    for compute in computes:
        found = (subject(expr) for expr in subexpressions(compute.body))
        own = {name for name, is_one in found if is_one}
        if own.isdisjoint(asked) and all(
            t in kept or t in tabulated for t in reads(compute) if isinstance(t, Compute)
        ):
            kept[compute] = None
    return tuple(kept)


def _is_alone(compute: Compute, alone: set[ModelTensor]) -> bool:
    """Return whether a compute reads parameters, its own node's payloads and computes in `alone` only."""
    if compute.child is not None or compute.calls or compute.body.calls:
        return False
    for expr in subexpressions(compute.body):
        if isinstance(expr, ra.IsLeaf | ra.NumChildren | ra.ChildReduce):
            return False
        if any(not isinstance(node, NodeVar) for node in handles(expr)):
            return False
        given = isinstance(expr, ra.Read) and isinstance(expr.tensor, InputTensor | NodeInput)
        if isinstance(expr, ra.Read) and not given and expr.tensor not in alone:
            return False
    return True


def _reduces(body: ModelTensor) -> bool:
    return isinstance(body, Compute) and any(
        isinstance(expr, ra.DenseReduce) for expr in subexpressions(body.body)
    )


@dataclass
class Inputs:
    """Writes the loops of the hoisted computes; `needed` gives the nodes at which the cases need each.

    Their sources that are not hoisted are in a table, or the same at all nodes.
    """

    model: Model
    functions: StructureFunctions
    buffers: Buffers
    hoisted: tuple[Compute, ...]
    constants: Constants
    tables: LookupTables
    needed: dict[Compute, set[bool]] = field(default_factory=dict)
    finite: set[InputTensor] = field(default_factory=set)
    listed: dict[Compute, _Listed] = field(init=False)

    def __post_init__(self) -> None:
        found = ((compute, self._without(compute)) for compute in self.hoisted)
        self.listed = {compute: listed for compute, listed in found if listed is not None}

    @property
    def but_leaves(self) -> bool:
        """Whether cases of leaves compute everything themselves: of trees, in which every other node is one."""
        return isinstance(self.model.structure, Tree)

    def buffer(self, compute: Compute) -> Buffer:
        """Return the buffer that holds a hoisted compute."""
        listed = self.listed.get(compute)
        return self.buffers.temporary(compute, None if listed is None else listed.payload)

    def ask(self, compute: Compute, leaf: bool | None) -> None:
        """Note that a case of leaves, of inner nodes, or of all needs a compute."""
        self.needed.setdefault(compute, set()).update((True, False) if leaf is None else (leaf,))

    def stmts(self) -> Stmt:
        """Return the loops over nodes of the needed computes and their sources."""
        for compute in reversed(self.hoisted):
            for tensor in reads(compute):
                if tensor in self.hoisted and compute in self.needed:
                    self.needed.setdefault(tensor, set()).update(self.needed[compute])
        asked = [compute for compute in self.hoisted if compute in self.needed]
        parts: list[Stmt] = []
        for (domain, payload, _), group in groupby(asked, self._where):
            parts += self._group(domain, payload, list(group))
        return block(*parts)

    def _where(self, compute: Compute) -> tuple[Domain, str | None, bool]:
        """Return the key by which computes share a loop: where they are needed, and the payload that they require.

        A reduction over such nodes is read whole, and has its own loop.
        """
        listed, domain = self.listed.get(compute), frozenset(self.needed[compute])
        return (domain, None, False) if listed is None else (domain, listed.payload, _reduces(compute))

    def _without(self, compute: Compute) -> _Listed | None:
        """Return the payload without which a compute is zero, if there is one.

        Parameters are assumed finite where that saves a reduction.
        """
        for payload in self.functions.carriers:
            zeros = Zeros(partial(_decided_without, payload))
            if zeros.holds(compute.body) and (_reduces(compute) or not zeros.finite):
                return _Listed(payload, frozenset(zeros.finite))
        return None

    def _group(self, domain: Domain, payload: str | None, computes: list[Compute]) -> Iterator[Stmt]:
        if payload is None:
            yield self._over_nodes(domain, computes)
            return
        self.finite |= {parameter for compute in computes for parameter in self.listed[compute].finite}
        yield self._over_others(payload, computes)
        yield self._over_carriers(domain, payload, computes)

    def _over_nodes(self, domain: Domain, computes: list[Compute]) -> Stmt:
        """Return the loop over nodes with the nests of each of `computes`."""
        begin, extent = part_of_nodes(domain, Call(self.functions.num_inner), Call(self.functions.num_nodes))
        step, node = Var("n"), Var("node")
        body = block(*(self._nests(node).compute(each, self.buffer(each)) for each in computes))
        return For(step, extent, Let(node, add(begin, Ref(step)), body), LoopKind.PARALLEL, NODE)

    def _over_others(self, payload: str, computes: list[Compute]) -> Stmt:
        """Return the loop over row 0, which stands for all nodes that do not carry a payload."""
        place = Var("n")
        nests = self._nests(place, Carrier(payload, Ref(place)))
        body = block(*(nests.fill(each, self.buffer(each), 0.0) for each in computes))
        return For(place, Const(1), body, LoopKind.PARALLEL, PLACE)

    def _over_carriers(self, domain: Domain, payload: str, computes: list[Compute]) -> Stmt:
        """Return the loop over the nodes that carry a payload with the nests of each of `computes`."""
        carriers = self.functions.carriers[payload]
        begin, extent = part_of_nodes(domain, Call(carriers.inner), Call(carriers.count))
        step, place, node = Var("n"), Var("place"), Var("node")
        number, own = add(begin, Ref(step)), Carrier(payload, Ref(place))
        body = block(*(self._nests(node, own).compute(each, self.buffer(each)) for each in computes))
        at = Let(place, add(number, 1), Let(node, Call(carriers.node, (number,)), body))
        return For(step, extent, at, LoopKind.PARALLEL, PLACE)

    def _nests(self, node: Var, carrier: Carrier | None = None) -> Nests:
        return Nests(
            self.buffers, CaseFacts(), self._result, Ref(node), self.constants.of_expr, carrier=carrier
        )

    def _result(self, tensor: ModelTensor) -> Buffer:
        assert isinstance(tensor, Compute)
        if self.tables.holds(tensor):
            return self.tables.buffer(tensor)
        if tensor not in self.hoisted:
            return self.constants.buffer(self.constants.everywhere, tensor)
        return self.buffer(tensor)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A payload without which a compute is zero, provided that some parameters are finite."""

    payload: str
    finite: frozenset[InputTensor]


def _decided_without(payload: str, condition: ra.Expr) -> bool | None:
    """Return the value of a condition at nodes that do not carry a payload, None if it is open."""
    carried = carried_by(condition)
    return False if carried is not None and carried.name == payload else None


def part_of_nodes(domain: Domain, inner: Expr, total: Expr) -> tuple[Expr, Expr]:
    """Return the first node and the number of nodes of a domain: inner nodes are numbered first."""
    match sorted(domain):
        case [False]:
            return Const(0), inner
        case [True]:
            return inner, sub(total, inner)
        case _:
            return Const(0), total
