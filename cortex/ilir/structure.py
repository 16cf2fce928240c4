"""The uninterpreted functions that stand for a batch of structures, and what is known of them.

The numbering is the paper's (CORTEX, Appendix B): the nodes of a batch are consecutive and numbered higher
than their parents, leaves above all inner nodes, so that `batch_begin`, `batch_length` and one comparison
replace every pointer. Batch 0 is the leaves; a batch's children lie in batches before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cortex.ilir.parts import Parts, class_facts, class_parts
from cortex.ilir.plan import Payload, Plan
from ragged.ir.build import add, sub
from ragged.ir.expr import Binary, Call, Const, Dim, Expr, Function, Param, Ref, Select, Source, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Monotone, PrefixSum, Range, Tiling
from ragged.ir.ops import BinaryOp
from ragged.ir.pointer_facts import Descends, Follows, Layered

NODE = Dim("N")
"""The dimension of all nodes of a batch of structures."""
CHILD = Dim("K")
"""The dimension of a node's children."""
ROOT = Dim("root")
"""The dimension of the roots of a batch of structures."""
PLACE = Dim("place")
"""The dimension of the nodes that carry a payload, and of one more that stands for all others."""
BATCH = Dim("batch")
"""The dimension of dynamic batches."""

STEP = Dim("step")
"""The dimension of steps of several heights."""
TOP = Dim("top")
"""The dimension of a step's nodes whose parents are not in it."""

_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Carriers:
    """The nodes that carry an integer payload: `count` of them, `node(p)` by rising number, the inner ones first.

    `inner` of them are inner nodes. `place(n)` is p + 1 where node n is `node(p)`, and 0 where it carries nothing.
    """

    count: Function
    inner: Function
    node: Function
    place: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (self.count, self.inner, self.node, self.place)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps in which inner nodes are taken: `count` of them, children before parents.

    Step `s` is `heights` heights, those above `s * heights`; leaves have height 0. `top(t)` for
    `top_begin(s) <= t < top_begin(s + 1)`, `tops(s)` of them, are the nodes in it whose parent is not; all other nodes
    in it are below these. `group(n)` is the `t` of the top that `n` is, or is below in the same step, and -1 at a leaf.
    """

    heights: int
    count: Function
    top_count: Function
    top_begin: Function
    tops: Function
    top: Function
    height: Function
    group: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (
            self.count,
            self.top_count,
            self.top_begin,
            self.tops,
            self.top,
            self.height,
            self.group,
        )


@dataclass(frozen=True, slots=True)
class Storage:
    """The rows that nodes are kept in: `rows` of them, node n in `row(n)`, those of batch b from `begin(b)` on.

    A row is another node's only in batches after those of all parents of the one before, and not in the one after its
    own; that of a root never is.
    """

    rows: Function
    begin: Function
    row: Function

    def all(self) -> tuple[Function, ...]:
        """Return the functions, in the order of a program's arguments."""
        return (self.rows, self.begin, self.row)


@dataclass(frozen=True, slots=True)
class StructureFunctions:
    """The functions of one plan, by the names of `Linearized`'s arrays, and their facts.

    `positions[j]` gives an inner node's j-th child; `payloads` the integer payloads, which index tables; `carriers`
    the nodes that carry one, where the plan lists them; `steps` is there where the plan is unrolled; `classes` are the
    parts of batches that the nodes of each of the plan's classes are; `storage` is there where the plan is recycled.
    """

    num_nodes: Function
    num_inner: Function
    num_edges: Function
    num_batches: Function
    num_roots: Function
    widest_nodes: Function
    widest_edges: Function
    batch_begin: Function
    batch_length: Function
    batch_edges: Function
    child_begin: Function
    child: Function
    num_children: Function
    roots: Function
    positions: Mapping[int, Function]
    payloads: Mapping[str, Function]
    carriers: Mapping[str, Carriers]
    steps: Steps | None
    classes: tuple[Parts, ...]
    storage: Storage | None
    facts: tuple[Fact, ...]

    def all(self) -> tuple[Function, ...]:
        """Every function, in the order of a program's arguments."""
        return (
            self.num_nodes,
            self.num_inner,
            self.num_edges,
            self.num_batches,
            self.num_roots,
            self.widest_nodes,
            self.widest_edges,
            self.batch_begin,
            self.batch_length,
            self.child_begin,
            self.child,
            self.num_children,
            self.batch_edges,
            self.roots,
            *self.positions.values(),
            *self.payloads.values(),
            *(function for listed in self.carriers.values() for function in listed.all()),
            *(() if self.steps is None else self.steps.all()),
            *(function for parts in self.classes for function in parts.all()),
            *(() if self.storage is None else self.storage.all()),
        )


def structure_functions(plan: Plan) -> StructureFunctions:
    """Return the functions that a program over structures of `plan` may call."""
    sizes = (
        "num_nodes",
        "num_inner",
        "num_edges",
        "num_batches",
        "num_roots",
        "widest_nodes",
        "widest_edges",
    )
    num_nodes, num_inner, num_edges, num_batches, num_roots, widest_nodes, widest_edges = (
        Function(name, (), Source.STRUCTURE) for name in sizes
    )
    batch_begin = _array("batch_begin", "b", Call(num_batches))
    batch_length = _array("batch_length", "b", Call(num_batches))
    child_begin = _array("child_begin", "n", add(Call(num_nodes), 1))
    child = _array("child", "e", Call(num_edges))
    batch_edges = _edges_of_batch(batch_begin, batch_length, child_begin)
    num_children = _difference("num_children", child_begin, Call(num_nodes))
    roots = _array("roots", "r", Call(num_roots))
    positions = {j: _array(_position_name(plan, j), "n", Call(num_inner)) for j in plan.positions}
    payloads = {
        payload.name: Function(
            payload.name, (Param(Var("n"), Call(num_nodes)),), Source.PAYLOAD, storage=payload.dtype
        )
        for payload in plan.payloads
        if payload.dtype.is_int and not payload.shape
    }
    facts: list[Fact] = [
        Range(num_inner, Const(0), add(Call(num_nodes), 1)),
        Range(num_batches, Const(1), add(Call(num_nodes), 2)),
        Tiling(batch_begin, batch_length, Call(num_inner), Call(num_nodes)),
        _inner_range(batch_length, num_nodes, widest_nodes),
        Range(child_begin, Const(0), add(Call(num_edges), 1)),
        PrefixSum(child_begin, num_children),
        Range(child, Const(0), Call(num_nodes)),
        Follows(child, batch_begin, batch_length, via=child_begin),
        Range(batch_edges, Const(0), add(Call(widest_edges), 1)),
        Range(roots, Const(0), Call(num_nodes)),
    ]
    for position, pointer in positions.items():
        node = Ref(pointer.params[0].var)
        if position < plan.min_children:
            facts.append(Range(pointer, add(node, 1), Call(num_nodes)))
            facts.append(Follows(pointer, batch_begin, batch_length))
        else:
            facts.append(Range(pointer, Const(-1), Call(num_nodes)))
            facts.append(Follows(pointer, batch_begin, batch_length, optional=True))
    facts.extend(
        _payload_range(payload, payloads[payload.name], num_inner)
        for payload in plan.payloads
        if payload.name in payloads and payload.range is not None
    )
    carriers = {name: _carriers(name, num_nodes) for name in plan.carriers}
    for listed in carriers.values():
        facts.append(Range(listed.count, Const(0), add(Call(num_nodes), 1)))
        facts.append(Range(listed.inner, Const(0), add(Call(listed.count), 1)))
        facts.append(Range(listed.node, Const(0), Call(num_nodes)))
        facts.append(Monotone(listed.node, strict=True))
        facts.append(Range(listed.place, Const(0), add(Call(listed.count), 1)))
    steps = _steps(plan.unrolled + 1, num_nodes) if plan.unrolled else None
    if steps is not None:
        facts.append(Range(steps.count, Const(0), Call(num_batches)))
        facts.append(Range(steps.top_count, Const(0), add(Call(num_inner), 1)))
        facts.append(Range(steps.top_begin, Const(0), add(Call(steps.top_count), 1)))
        facts.append(PrefixSum(steps.top_begin, steps.tops))
        facts.append(Range(steps.top, Const(0), Call(num_inner)))
        facts.append(_height_range(steps.height, num_inner, num_batches))
        facts.append(Layered(steps.top, steps.top_begin, steps.group, steps.height, steps.heights))
        facts.append(Descends(child, steps.group, steps.height, steps.heights, via=child_begin))
        facts.extend(
            Descends(
                pointer, steps.group, steps.height, steps.heights, optional=position >= plan.min_children
            )
            for position, pointer in positions.items()
        )
    classes = class_parts(plan, batch_begin, batch_length)
    facts += class_facts(
        plan,
        classes,
        (batch_begin, batch_length),
        lambda payload: num_children if payload is None else payloads[payload],
        positions,
    )
    storage = _storage(num_nodes, num_batches) if plan.recycled else None
    if storage is not None:
        facts.append(Range(storage.row, Const(0), Call(storage.rows)))
        facts.append(_room(storage, batch_length))
    return StructureFunctions(
        num_nodes,
        num_inner,
        num_edges,
        num_batches,
        num_roots,
        widest_nodes,
        widest_edges,
        batch_begin,
        batch_length,
        batch_edges,
        child_begin,
        child,
        num_children,
        roots,
        positions,
        payloads,
        carriers,
        steps,
        classes,
        storage,
        tuple(facts),
    )


_COUNT, _INNER, _NODE, _PLACE = "num_with_", "num_inner_with_", "with_", "place_with_"


def _carriers(payload: str, num_nodes: Function) -> Carriers:
    count = Function(_COUNT + payload, (), Source.STRUCTURE)
    inner = Function(_INNER + payload, (), Source.STRUCTURE)
    node = _array(_NODE + payload, "p", Call(count))
    return Carriers(count, inner, node, _array(_PLACE + payload, "n", Call(num_nodes)))


def _steps(heights: int, num_nodes: Function) -> Steps:
    count, top_count = (Function(name, (), Source.STRUCTURE) for name in ("num_steps", "num_tops"))
    begin = _array("top_begin", "s", add(Call(count), 1))
    tops = _difference("step_tops", begin, Call(count), "s")
    return Steps(
        heights,
        count,
        top_count,
        begin,
        tops,
        _array("step_top", "t", Call(top_count)),
        _array("height", "n", Call(num_nodes)),
        _array("step_group", "n", Call(num_nodes)),
    )


def _storage(num_nodes: Function, num_batches: Function) -> Storage:
    rows = Function("storage_rows", (), Source.STRUCTURE)
    begin = _array("storage_begin", "b", Call(num_batches))
    return Storage(rows, begin, _array("storage_row", "n", Call(num_nodes)))


def _room(storage: Storage, batch_length: Function) -> Range:
    """Return where batches may begin: there is room for all of each."""
    own = Call(batch_length, (Ref(storage.begin.params[0].var),))
    return Range(storage.begin, Const(0), add(sub(Call(storage.rows), own), 1))


def _array(name: str, parameter: str, extent: Expr) -> Function:
    return Function(name, (Param(Var(parameter), extent),), Source.STRUCTURE)


def _difference(name: str, offset: Function, extent: Expr, parameter: str = "n") -> Function:
    """Return `name(n) = offset(n + 1) - offset(n)`."""
    node = Var(parameter)
    body = sub(Call(offset, (add(Ref(node), 1),)), Call(offset, (Ref(node),)))
    return Function(name, (Param(node, extent),), Source.EXPRESSION, body)


def _edges_of_batch(begin: Function, length: Function, child_begin: Function) -> Function:
    """Return how many edges lead out of the nodes of each batch."""
    batch = Var("b")
    first = Call(begin, (Ref(batch),))
    last = add(first, Call(length, (Ref(batch),)))
    body = sub(Call(child_begin, (last,)), Call(child_begin, (first,)))
    return Function("batch_edges", (Param(batch, begin.params[0].extent),), Source.EXPRESSION, body)


def _inner_range(length: Function, num_nodes: Function, widest: Function) -> Range:
    """Return how long batches may be: those after the leaves' as long as the longest of them."""
    leaves = Binary(BinaryOp.EQ, Ref(length.params[0].var), Const(0))
    return Range(length, Const(0), Select(leaves, add(Call(num_nodes), 1), add(Call(widest), 1)))


def _position_name(plan: Plan, position: int) -> str:
    if plan.max_children == 2:
        return _SIDES[position]
    return f"child_{position}"


def position_of(function: Function) -> int | None:
    """Return j if `function` gives an inner node's j-th child, else None."""
    if function.source is not Source.STRUCTURE:
        return None
    if function.name in _SIDES:
        return _SIDES.index(function.name)
    prefix, _, number = function.name.partition("_")
    return int(number) if prefix == "child" and number.isdigit() else None


def carriers_of(function: Function) -> tuple[str, int] | None:
    """Return the payload whose carriers `function` tells of and its place in `Carriers`, or None."""
    if function.source is not Source.STRUCTURE:
        return None
    for place, prefix in enumerate((_COUNT, _INNER, _NODE, _PLACE)):
        if function.name.startswith(prefix):
            return function.name.removeprefix(prefix), place
    return None


_BEGIN, _SIZE = "begin_of_", "size_of_"


def in_place_names(payload: str) -> tuple[str, str]:
    """Return what functions are called that say where each node's value of a payload begins, and in how much memory."""
    return _BEGIN + payload, _SIZE + payload


def in_place_of(function: Function) -> tuple[str, int] | None:
    """Return the payload that is read where `function` says and its place in `in_place_names`, or None."""
    if function.source is not Source.STRUCTURE:
        return None
    for place, prefix in enumerate((_BEGIN, _SIZE)):
        if function.name.startswith(prefix):
            return function.name.removeprefix(prefix), place
    return None


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
