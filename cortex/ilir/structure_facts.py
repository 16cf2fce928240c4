"""What is known of the functions of a plan; a call checks the facts that proofs used."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.ilir.class_ranges import class_facts
from cortex.ilir.plan import Payload, Plan
from cortex.ilir.structure import Steps, Storage, StructureFunctions
from ragged.ir.build import add, sub
from ragged.ir.expr import Binary, Call, Const, Expr, Function, Ref, Select
from ragged.ir.fact import Fact
from ragged.ir.facts import Monotone, PrefixSum, Range, Tiling
from ragged.ir.ops import BinaryOp
from ragged.ir.pointer_facts import Descends, Follows, Layered


def structure_facts(plan: Plan, f: StructureFunctions) -> Iterator[Fact]:
    """Yield the facts of a plan's functions, each after the facts of what it reads through."""
    nodes = Call(f.num_nodes)
    yield Range(f.num_inner, Const(0), add(nodes, 1))
    yield Range(f.num_batches, Const(1), add(nodes, 2))
    yield Tiling(f.batch_begin, f.batch_length, Call(f.num_inner), nodes)
    yield _inner_range(f.batch_length, f.num_nodes, f.widest_nodes)
    yield Range(f.child_begin, Const(0), add(Call(f.num_edges), 1))
    yield PrefixSum(f.child_begin, f.num_children)
    yield Range(f.child, Const(0), nodes)
    yield Follows(f.child, f.batch_begin, f.batch_length, via=f.child_begin)
    yield Range(f.batch_edges, Const(0), add(Call(f.widest_edges), 1))
    yield Range(f.roots, Const(0), nodes)
    for position, pointer in f.positions.items():
        missing = position >= plan.min_children
        low = Const(-1) if missing else add(Ref(pointer.params[0].var), 1)
        yield Range(pointer, low, nodes)
        yield Follows(pointer, f.batch_begin, f.batch_length, optional=missing)
    for payload in plan.payloads:
        if payload.name in f.payloads and payload.range is not None:
            yield _payload_range(payload, f.payloads[payload.name], f.num_inner)
    for listed in f.carriers.values():
        yield Range(listed.count, Const(0), add(nodes, 1))
        yield Range(listed.inner, Const(0), add(Call(listed.count), 1))
        yield Range(listed.node, Const(0), nodes)
        yield Monotone(listed.node, strict=True)
        yield Range(listed.place, Const(0), add(Call(listed.count), 1))
    if f.steps is not None:
        yield from _step_facts(plan, f, f.steps)
    yield from class_facts(
        plan,
        f.classes,
        (f.batch_begin, f.batch_length),
        lambda payload: f.num_children if payload is None else f.payloads[payload],
        f.positions,
    )
    if f.members is not None:
        yield Range(f.members.begin, Const(0), add(nodes, 1))
        yield PrefixSum(f.members.begin, f.members.nodes)
        yield Range(f.members.node, Const(0), nodes)
        yield Range(f.members.of, Const(0), Call(f.members.structures))
    if f.storage is not None:
        yield Range(f.storage.row, Const(0), Call(f.storage.rows))
        yield _storage_begin_range(f.storage, f.batch_length)


def _step_facts(plan: Plan, f: StructureFunctions, steps: Steps) -> Iterator[Fact]:
    yield Range(steps.count, Const(0), Call(f.num_batches))
    yield Range(steps.top_count, Const(0), add(Call(f.num_inner), 1))
    yield Range(steps.top_begin, Const(0), add(Call(steps.top_count), 1))
    yield PrefixSum(steps.top_begin, steps.tops)
    yield Range(steps.top, Const(0), Call(f.num_inner))
    yield _height_range(steps.height, f.num_inner, f.num_batches)
    yield Layered(steps.top, steps.top_begin, steps.group, steps.height, steps.heights)
    yield Descends(f.child, steps.group, steps.height, steps.heights, via=f.child_begin)
    for position, pointer in f.positions.items():
        missing = position >= plan.min_children
        yield Descends(pointer, steps.group, steps.height, steps.heights, optional=missing)


def _storage_begin_range(storage: Storage, batch_length: Function) -> Range:
    """Return `0 <= begin(b) <= rows - length(b)`."""
    length = Call(batch_length, (Ref(storage.begin.params[0].var),))
    return Range(storage.begin, Const(0), add(sub(Call(storage.rows), length), 1))


def _inner_range(length: Function, num_nodes: Function, widest: Function) -> Range:
    """Return how long batches may be: those after the leaves' as long as the longest of them."""
    leaves = Binary(BinaryOp.EQ, Ref(length.params[0].var), Const(0))
    return Range(length, Const(0), Select(leaves, add(Call(num_nodes), 1), add(Call(widest), 1)))


def _height_range(height: Function, num_inner: Function, num_batches: Function) -> Fact:
    """Return the range of heights: leaves have 0, and no other node."""
    leaf = _at_leaf(height, num_inner)
    lower, upper = Select(leaf, Const(0), Const(1)), Select(leaf, Const(1), Call(num_batches))
    return Range(height, lower, upper)


def _at_leaf(function: Function, num_inner: Function) -> Expr:
    """Return whether the node that `function` is asked about is a leaf."""
    return Binary(BinaryOp.GE, Ref(function.params[0].var), Call(num_inner))


def _payload_range(payload: Payload, function: Function, num_inner: Function) -> Fact:
    """Return the range of a payload that indexes a table; its default counts where a node may lack it."""
    at_leaf, at_inner = payload.interval(leaf=True), payload.interval(leaf=False)
    assert at_leaf is not None and at_inner is not None
    leaf = _at_leaf(function, num_inner)
    lower, upper = (
        Const(low) if low == high else Select(leaf, Const(low), Const(high))
        for low, high in zip(at_leaf, at_inner, strict=True)
    )
    return Range(function, lower, upper)
