"""Loops over nodes: children before parents, batch by batch or one by one.

A model's node is one or two *cases* (leaf, inner, or any). A specialized program has a nest for each; otherwise one
nest covers all nodes and asks `is_leaf` inside (CORTEX section 3.1, Listing 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cortex.ilir.class_ranges import ClassRange
from cortex.ilir.structure import BATCH, CHILD, NODE, STEP, TOP, Steps, StructureFunctions
from ragged.ir.build import add, sub
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import Check, For, If, Label, Let, LoopKind, Stmt, block

NodeBody = Callable[[Expr], Stmt]
"""What is done at one node, given its id."""


@dataclass(frozen=True, slots=True)
class Cases:
    """What is done at a leaf and at an inner node; `inner` is None where both are the same."""

    leaf: NodeBody
    inner: NodeBody | None = None


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Steps of `depth` + 1 heights of inner nodes each; `steps` says which nodes they are."""

    depth: int
    steps: Steps


def is_leaf(functions: StructureFunctions, node: Expr) -> Expr:
    """Return the one comparison that tells a leaf."""
    return Binary(BinaryOp.GE, node, Call(functions.num_inner))


def node_loops(
    functions: StructureFunctions,
    cases: Cases,
    *,
    batched: bool,
    specialized: bool,
    unrolled: Unrolled | None = None,
) -> Stmt:
    """Return the loops that run `cases` at every node, each node after its children.

    Steps are of inner nodes, so that an `unrolled` recursion is batched, and has a loop of the leaves' own, whatever
    else is asked for.
    """
    if unrolled is not None:
        steps = _all_steps(functions, unrolled, cases.inner or cases.leaf)
        return block(_batch(functions, Const(0), cases.leaf), steps)
    if cases.inner is None:
        return _all_batches(functions, cases.leaf) if batched else _all_nodes(functions, cases.leaf)
    if not specialized:
        either = _either(functions, cases.leaf, cases.inner)
        return _all_batches(functions, either) if batched else _all_nodes(functions, either)
    if batched:
        inner = cases.inner
        first = _batch(functions, Const(0), cases.leaf)
        return block(first, _later_batches(functions, lambda b: _batch(functions, b, inner)))
    leaves = sub(Call(functions.num_nodes), functions.num_inner)
    return block(
        _downward(leaves, Call(functions.num_nodes), cases.leaf, LoopKind.PARALLEL),
        _downward(Call(functions.num_inner), Call(functions.num_inner), cases.inner, LoopKind.SERIAL),
    )


def class_loops(
    functions: StructureFunctions,
    leaves: Sequence[NodeBody],
    inner: Sequence[NodeBody],
    unrolled: Unrolled | None = None,
) -> Stmt:
    """Return the loops that run, batch by batch, what is done at the nodes of each class, in the plan's order.

    Where leaves, or inner nodes, are of one class, the loop is over a whole batch. An `unrolled` recursion has one
    class of inner nodes.
    """
    ranges = functions.classes
    first = _batch_by_class(functions, Const(0), leaves, ranges[: len(leaves)])
    if unrolled is not None:
        (body,) = inner
        return block(first, _all_steps(functions, unrolled, body))
    later = ranges[len(leaves) :]
    return block(first, _later_batches(functions, lambda b: _batch_by_class(functions, b, inner, later)))


def _batch_by_class(
    functions: StructureFunctions, batch: Expr, bodies: Sequence[NodeBody], ranges: Iterable[ClassRange]
) -> Stmt:
    if len(bodies) == 1:
        return _batch(functions, batch, bodies[0])
    loops = (_nodes(p.begin, p.length, batch, body) for p, body in zip(ranges, bodies, strict=True))
    return block(*loops)


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


def _later_batches(functions: StructureFunctions, body: Callable[[Expr], Stmt]) -> Stmt:
    """Return the loop over every batch but the leaves'; `body` is what is done in one."""
    step, batch = Var("step"), Var("b")
    inner = Let(batch, add(Ref(step), 1), body(Ref(batch)))
    return For(step, sub(Call(functions.num_batches), 1), inner, LoopKind.SERIAL, BATCH)


def _all_steps(functions: StructureFunctions, unrolled: Unrolled, body: NodeBody) -> Stmt:
    """Return the loop over steps: in each, the nodes below a top and then the top, independent of other tops."""
    steps, step, place, node = unrolled.steps, Var("s"), Var("n"), Var("node")
    below = _Below(functions, steps, Binary(BinaryOp.MUL, Ref(step), Const(steps.heights)), body)
    index = add(Call(steps.top_begin, (Ref(step),)), place)
    top = Let(node, Call(steps.top, (index,)), below.then(Ref(node), unrolled.depth))
    over = For(place, Call(steps.tops, (Ref(step),)), top, LoopKind.PARALLEL, TOP)
    return For(step, Call(steps.count), over, LoopKind.SERIAL, STEP)


@dataclass(frozen=True, slots=True)
class _Below:
    """Writes what is done at the nodes of one step: those of heights above `before`, which no earlier step has."""

    functions: StructureFunctions
    steps: Steps
    before: Expr
    body: NodeBody

    def then(self, node: Expr, depth: int) -> Stmt:
        """Return what is done at the nodes of the step below `node`, at most `depth` levels of them, and at it."""
        here = self.body(node)
        place, child = Var("k"), Var("below")
        edge = add(Call(self.functions.child_begin, (node,)), place)
        height = Call(self.steps.height, (Ref(child),))
        if depth == 0:
            message = "node {0} is computed too late for its parent {1}: it has height {2}, and steps before end at {3}"
            early = Binary(BinaryOp.LE, height, self.before)
            visit: Stmt = Check(Label("step.order"), early, message, (Ref(child), node, height, self.before))
        else:
            visit = If(Binary(BinaryOp.GT, height, self.before), self.then(Ref(child), depth - 1))
        count = Call(self.functions.num_children, (node,))
        return block(
            For(place, count, Let(child, Call(self.functions.child, (edge,)), visit), dim=CHILD), here
        )


def _batch(functions: StructureFunctions, batch: Expr, body: NodeBody) -> Stmt:
    """Return the loop over one batch's nodes, which do not depend on each other."""
    return _nodes(functions.batch_begin, functions.batch_length, batch, body)


def _nodes(begin: Function, length: Function, batch: Expr, body: NodeBody) -> Stmt:
    """Return the loop over `length(batch)` nodes from `begin(batch)` on."""
    step, node = Var("n"), Var("node")
    bound = Let(node, add(Call(begin, (batch,)), step), body(Ref(node)))
    return For(step, Call(length, (batch,)), bound, LoopKind.PARALLEL, NODE)
