"""The loops after the recursion: over structures, and over nodes for what structures read and are read by."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from cortex.ilir.structure import AFTER, STRUCTURE
from cortex.ra.base import ModelTensor, S
from cortex.ra.cases import handles
from cortex.ra.expr import ChildReduce, IsLeaf, Read
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case_facts import LEAF, CaseFacts
from cortex.ra.lower.inputs import part_of_nodes
from cortex.ra.lower.nests import Nests
from cortex.ra.lower.translate import ConstantParts
from cortex.ra.model import Model
from cortex.ra.node import NodeVar
from cortex.ra.tensor import Compute
from cortex.ra.walk import subexpressions
from ragged.ir.build import add
from ragged.ir.expr import Buffer, Call, Ref, Var
from ragged.ir.stmt import For, Let, LoopKind, Stmt, block


def computed_after(model: Model, buffers: Buffers, constant: ConstantParts) -> Iterator[Stmt]:
    """Yield the loops that compute what a model has after its recursion, in order.

    Computes that read each other at their own node share a loop. Where it matters whether a node has children, there is
    a loop over inner nodes and one over leaves. What is `constant` has been computed.
    """
    held: dict[ModelTensor, Buffer] = {body: buffers.outputs[ph] for ph, body in model.outputs.values()}
    for group in _groups(model):
        held |= {tensor: buffers.after_of(tensor) for tensor in group}
        if S in group[0].shape:
            yield _over_structures(group, held, buffers, constant)
        else:
            yield from _over_nodes(group, held, buffers, constant)


def _groups(model: Model) -> Iterator[list[Compute]]:
    """Yield the computes of each loop, in topological order."""
    group: list[Compute] = []
    for tensor in model.after_computes:
        assert isinstance(tensor, Compute), "the checks of the language refuse branches"
        if group and (tensor.shape[0] is not group[0].shape[0] or _reads_elsewhere(tensor, group)):
            yield group
            group = []
        group.append(tensor)
    if group:
        yield group


def _reads_elsewhere(tensor: Compute, group: list[Compute]) -> bool:
    """Return whether a compute reads one of a group at a child."""
    reads = (expr for expr in subexpressions(tensor.body) if isinstance(expr, Read) and expr.tensor in group)
    return any(not isinstance(read.indices[0], NodeVar) for read in reads)


def _over_structures(
    group: list[Compute], held: dict[ModelTensor, Buffer], buffers: Buffers, constant: ConstantParts
) -> Stmt:
    assert buffers.functions.members is not None
    structure = Var("s")
    nests = Nests(buffers, CaseFacts(), held.__getitem__, Ref(structure), constant, of_structures=True)
    body = block(*(nests.compute(tensor, held[tensor]) for tensor in group))
    return For(structure, Call(buffers.functions.members.structures), body, LoopKind.PARALLEL, STRUCTURE)


def _over_nodes(
    group: list[Compute], held: dict[ModelTensor, Buffer], buffers: Buffers, constant: ConstantParts
) -> Iterator[Stmt]:
    functions = buffers.functions
    for leaf in (False, True) if any(map(_distinguishes_leaves, group)) else (None,):
        domain = frozenset((True, False) if leaf is None else (leaf,))
        begin, extent = part_of_nodes(domain, Call(functions.num_inner), Call(functions.num_nodes))
        step, node = Var("n"), Var("node")
        answers: dict[Hashable, bool] = {} if leaf is None else {LEAF: leaf}
        nests = Nests(buffers, CaseFacts(answers), held.__getitem__, Ref(node), constant)
        body = block(*(nests.compute(tensor, held[tensor]) for tensor in group))
        yield For(step, extent, Let(node, add(begin, Ref(step)), body), LoopKind.PARALLEL, AFTER)


def _distinguishes_leaves(tensor: Compute) -> bool:
    """Return whether a compute asks whether a node is a leaf, or reads children."""
    return tensor.child is not None or any(
        isinstance(expr, IsLeaf | ChildReduce) or any(not isinstance(h, NodeVar) for h in handles(expr))
        for expr in subexpressions(tensor.body)
    )
