"""The requirements of a model on its structures: `Model.plan()`."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.ilir.plan import Payload, Plan, Presence, StructureKind
from cortex.ra.bounds import payload_range
from cortex.ra.cases import CaseAnalysis, child_reads, needed_children, reads_default
from cortex.ra.collect import Recursion
from cortex.ra.expr import BinaryExpr, ChildReduce, Expr, IsLeaf, Literal, Read, Where
from cortex.ra.node import NodeVar
from cortex.ra.sites import all_reads, sites
from cortex.ra.structure import Dag, Sequence, Tree, most_children
from cortex.ra.tensor import NodeInput, dense
from cortex.ra.walk import subexpressions
from ragged.ir.ops import BinaryOp

_KINDS = {Tree: StructureKind.TREE, Dag: StructureKind.DAG, Sequence: StructureKind.SEQUENCE}


def derive_plan(recursion: Recursion) -> Plan:
    """Return the plan of a recursion that has passed the checks."""
    analysis = CaseAnalysis(recursion)
    kind, most = _KINDS[type(recursion.structure)], most_children(recursion.structure)
    positions = positions_read(recursion)
    if most is None and positions and not reduces_over_children(recursion):
        most = positions[-1] + 1
    payloads = tuple(_payload(analysis, tensor) for tensor in recursion.payloads.values())
    carriers = tested_payloads(recursion)
    least, members = fewest_children(analysis), bool(recursion.after)
    return Plan(kind, least, most, payloads, positions, carriers, members=members)


def tested_payloads(recursion: Recursion) -> tuple[str, ...]:
    """Return the integer payloads that a node may lack and that some expression asks for: `word[n] >= 0`."""
    asked = (
        carried_by(site.expr.condition)
        for body in recursion.computes
        for site in sites(body)
        if isinstance(site.expr, Where)
    )
    names = {tensor.name for tensor in asked if tensor is not None}
    return tuple(name for name in recursion.payloads if name in names)


def carried_by(condition: Expr) -> NodeInput | None:
    """Return the payload that a condition tests for presence at the node (`word[n] >= 0`), or None."""
    match condition:
        case BinaryExpr(
            op=BinaryOp.GE, lhs=Read(tensor=NodeInput() as tensor, indices=(NodeVar(),)), rhs=Literal(value=0)
        ):
            return (
                tensor if tensor.dtype.is_int and tensor.default is not None and tensor.default < 0 else None
            )
        case _:
            return None


def positions_read(recursion: Recursion) -> tuple[int, ...]:
    """Return the positions at which children are read, in increasing order."""
    return tuple(sorted({at.position for body in recursion.at_nodes for _, at in child_reads(body)}))


def reduces_over_children(recursion: Recursion) -> bool:
    """Return whether some expression reduces over all children of a node."""
    return any(isinstance(s.expr, ChildReduce) for body in recursion.at_nodes for s in sites(body))


def distinguishes_leaves(recursion: Recursion) -> bool:
    """Return whether some value depends on a node having no children: an empty sum, a default, a choice."""
    everywhere = (site.expr for body in recursion.computes for site in sites(body))
    return any(
        isinstance(expr, ChildReduce)
        or reads_default(expr)
        or (isinstance(expr, Where) and _separates_leaves(expr))
        for expr in everywhere
    )


def _separates_leaves(choice: Where) -> bool:
    return any(isinstance(part, IsLeaf) for part in subexpressions(choice.condition))


def fewest_children(analysis: CaseAnalysis) -> int:
    """Return the minimum number of children of an inner node: as many as are read at any, or one.

    It is zero where the first child is read only with a default: a node may have others and not that one.
    """
    recursion = analysis.recursion
    needed: list[int] = []
    for body in recursion.at_nodes:
        for site, child in needed_children(body):
            cases = analysis.at(site)
            if any(1 <= case <= child.position for case in cases) or (child.position == 0 and any(cases)):
                needed.append(child.position + 1)
    may_lack = 0 in positions_read(recursion) and not isinstance(recursion.structure, Sequence)
    return max(needed, default=0 if may_lack else 1)


def _payload(analysis: CaseAnalysis, tensor: NodeInput) -> Payload:
    absent = -1 if tensor.dtype.is_int else 0.0
    default = absent if tensor.default is None else tensor.default
    required = Presence.NOWHERE if tensor.default is not None else _presence(analysis, tensor)
    ends = payload_range(analysis, tensor)
    limits = None if ends is None else (ends[0], ends[1] + 1)
    return Payload(tensor.name, tensor.dtype, dense(tensor), required, default, limits)


def _presence(analysis: CaseAnalysis, tensor: NodeInput) -> Presence:
    """Return at which nodes the payload is read; a child at which it is read may be a leaf or an inner node."""
    leaves = inner = False
    for read, cases in _reads(analysis, tensor):
        own = isinstance(read.indices[0], NodeVar)
        leaves = leaves or 0 in cases or not own
        inner = inner or any(cases) or not own
    if leaves and inner:
        return Presence.ALL
    return Presence.LEAVES if leaves else Presence.INNER if inner else Presence.NOWHERE


def _reads(analysis: CaseAnalysis, tensor: NodeInput) -> Iterator[tuple[Read, frozenset[int]]]:
    for site, read in all_reads(analysis.recursion.bodies):
        cases = analysis.at(site) if read.tensor is tensor else frozenset()
        if cases:
            yield read, cases
