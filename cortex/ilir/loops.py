"""Loops over nodes: children before parents, batch by batch or one by one.

A model's node is one or two *cases* (leaf, inner, or any). A specialized program has a nest for each; otherwise one
nest covers all nodes and asks `is_leaf` inside (CORTEX section 3.1, Listing 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cortex.ilir.structure import BATCH, NODE, StructureFunctions
from ragged.ir.expr import Binary, Call, Const, Expr, Ref, Var, add, sub
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import For, If, Let, LoopKind, Stmt, block

NodeBody = Callable[[Expr], Stmt]
"""What is done at one node, given its id."""


@dataclass(frozen=True, slots=True)
class Cases:
    """What is done at a leaf and at an inner node; `inner` is None where both are the same."""

    leaf: NodeBody
    inner: NodeBody | None = None


def is_leaf(functions: StructureFunctions, node: Expr) -> Expr:
    """Return the one comparison that tells a leaf."""
    return Binary(BinaryOp.GE, node, Call(functions.num_inner))


def node_loops(functions: StructureFunctions, cases: Cases, *, batched: bool, specialized: bool) -> Stmt:
    """Return the loops that run `cases` at every node, each node after its children."""
    if cases.inner is None:
        return _all_batches(functions, cases.leaf) if batched else _all_nodes(functions, cases.leaf)
    if not specialized:
        either = _either(functions, cases.leaf, cases.inner)
        return _all_batches(functions, either) if batched else _all_nodes(functions, either)
    if batched:
        return block(_batch(functions, Const(0), cases.leaf), _later_batches(functions, cases.inner))
    leaves = sub(Call(functions.num_nodes), functions.num_inner)
    return block(
        _downward(leaves, Call(functions.num_nodes), cases.leaf, LoopKind.PARALLEL),
        _downward(Call(functions.num_inner), Call(functions.num_inner), cases.inner, LoopKind.SERIAL),
    )


def _either(functions: StructureFunctions, leaf: NodeBody, inner: NodeBody) -> NodeBody:
    return lambda node: If(is_leaf(functions, node), leaf(node), inner(node))


def _all_nodes(functions: StructureFunctions, body: NodeBody) -> Stmt:
    return _downward(Call(functions.num_nodes), Call(functions.num_nodes), body, LoopKind.SERIAL)


def _downward(extent: Expr, end: Expr, body: NodeBody, kind: LoopKind) -> Stmt:
    """Return a loop over the `extent` nodes below `end`, the highest first."""
    step, node = Var("step"), Var("node")
    first = sub(end, 1)
    return For(step, extent, Let(node, sub(first, step), body(Ref(node))), kind, NODE)


def _all_batches(functions: StructureFunctions, body: NodeBody) -> Stmt:
    batch = Var("b")
    return For(
        batch, Call(functions.num_batches), _batch(functions, Ref(batch), body), LoopKind.SERIAL, BATCH
    )


def _later_batches(functions: StructureFunctions, body: NodeBody) -> Stmt:
    """Return the loop over every batch but the leaves'."""
    step, batch = Var("step"), Var("b")
    inner = Let(batch, add(Ref(step), 1), _batch(functions, Ref(batch), body))
    return For(step, sub(Call(functions.num_batches), 1), inner, LoopKind.SERIAL, BATCH)


def _batch(functions: StructureFunctions, batch: Expr, body: NodeBody) -> Stmt:
    """Return the loop over one batch's nodes, which do not depend on each other."""
    step, node = Var("n"), Var("node")
    bound = Let(node, add(Call(functions.batch_begin, (batch,)), step), body(Ref(node)))
    return For(step, Call(functions.batch_length, (batch,)), bound, LoopKind.PARALLEL, NODE)
