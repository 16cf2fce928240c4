"""The loops that compute one tensor at one node, with a separate nest for each reduction in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from cortex.ilir.loops import is_leaf
from cortex.ilir.structure import CHILD
from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case_facts import CaseFacts
from cortex.ra.lower.lanes import LANES, is_in_lanes, lane_nests
from cortex.ra.lower.needed_guards import needed_guards
from cortex.ra.lower.saved_reduction import Axis, Guards, SavedReduction, inner_axes, used_axes, within
from cortex.ra.lower.translate import Carrier, ConstantParts, ExprLowering, Point, none_constant
from cortex.ra.lower.zeros import Zeros
from cortex.ra.node import ChildVar
from cortex.ra.tensor import Compute
from ragged.ir.build import add, both
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Buffer, Call, Const, Expr, Load, Ref, Unary, Var
from ragged.ir.ops import UnaryOp
from ragged.ir.stmt import For, If, Label, Let, Reduce, Stmt, Store, block


@dataclass
class Nests:
    """Writes the nests of one case's computes, in order, at the node `node`.

    With a `carrier`, its place among those that carry a payload or among roots, buffers have rows for these only. With
    `of_structures` the `node` is a structure, and so are rows.
    """

    buffers: Buffers
    known: CaseFacts
    results: Callable[[ModelTensor], Buffer]
    node: Expr
    constant: ConstantParts = none_constant
    zeros: Zeros | None = None
    carrier: Carrier | None = None
    of_structures: bool = False
    saved: dict[ra.Reduction, list[SavedReduction]] = field(default_factory=dict)
    translator: ExprLowering = field(init=False)

    def __post_init__(self) -> None:
        self.translator = ExprLowering(
            self.buffers, self.known, self.results, self.reduced, self.constant, self.zeros, self.carrier
        )

    def compute(self, compute: Compute, target: Buffer) -> Stmt:
        """Return the statements that store every value of `compute` at the node to `target`.

        A reduction that is the whole body accumulates in `target`; any other has its own temporary.
        """
        axes: tuple[Axis, ...] = (*(() if compute.child is None else (compute.child,)), *compute.indices)
        body = compute.body
        if isinstance(body, ra.Reduction) and not self.is_given(body, ()):
            inner = list(self.hoist(body.body, within(axes, body), (), target.name))
            return block(*inner, self.accumulate(body, SavedReduction(target, axes), Point(self.node)))
        before = list(self.hoist(body, axes, (), target.name))

        def store(at: Point) -> Stmt:
            indices = self.element(axes, at)
            return Store(Label(target.name), target, indices, self.translator.expr(body, at), compute.at)

        return block(*before, self.loops(axes, Point(self.node), store))

    def fill(self, compute: Compute, target: Buffer, value: float) -> Stmt:
        """Return the statements that store `value` for all elements of `compute` at the node."""

        def store(at: Point) -> Stmt:
            return Store(
                Label(target.name), target, self.element(compute.indices, at), Const(value, target.dtype)
            )

        return self.loops(compute.indices, Point(self.node), store)

    def copy(self, source: Buffer, target: Buffer, extents: tuple[ra.IndexVar, ...]) -> Stmt:
        """Return the statement that copies the node's values from one buffer to another."""

        def store(at: Point) -> Stmt:
            indices = self.element(extents, at)
            return Store(
                Label(target.name), target, indices, Load(source, self.translator.row(source, indices, at))
            )

        return self.loops(extents, Point(self.node), store)

    def loops(self, axes: tuple[Axis, ...], at: Point, body: Callable[[Point], Stmt]) -> Stmt:
        """Return `body` within a loop for each axis, outermost first."""
        if not axes:
            return body(at)
        first, rest = axes[0], axes[1:]
        if isinstance(first, ChildVar):
            return self.over_children(first, at, lambda inner: self.loops(rest, inner, body))
        var = Var(first.name)
        return For(var, Const(first.extent), self.loops(rest, at.with_index(first, Ref(var)), body))

    def over_children(self, child: ChildVar, at: Point, body: Callable[[Point], Stmt]) -> Stmt:
        """Return the loop over a node's children, in order."""
        functions = self.buffers.functions
        place, node = Var(child.name), Var(f"{child.name}_node")
        parent = self.translator.node(child.node, at)
        inner = at.with_child(child, place, node)
        pointer = Call(functions.child, (self.translator.edge(child, inner),))
        known = self.known.constant(ra.NumChildren(child.node, dtype=INDEX))
        count = Call(functions.num_children, (parent,)) if known is None else Const(known)
        return For(place, count, Let(node, pointer, body(inner)), dim=CHILD)

    def over_nodes(self, reduction: ra.NodeReduce, at: Point, body: Callable[[Var, Point], Stmt]) -> Stmt:
        """Return the loop over the nodes of a structure, in post-order."""
        members = self.buffers.functions.members
        assert members is not None
        place, node = Var(reduction.node.name), Var(f"{reduction.node.name}_node")
        pointer = Call(members.node, (add(Call(members.begin, (at.node,)), Ref(place)),))
        inner = body(place, replace(at, node=Ref(node), structure=at.node))
        return For(place, Call(members.nodes, (at.node,)), Let(node, pointer, inner))

    def element(self, axes: tuple[Axis, ...], at: Point) -> tuple[Expr, ...]:
        """Return the indices of a buffer element: the row of the node or edge, then the dense axes."""
        row: Expr = at.node if self.carrier is None else self.carrier.place
        rest: list[Expr] = []
        for axis in axes:
            if isinstance(axis, ChildVar):
                row = self.translator.edge(axis, at)
            else:
                rest.append(at.indices[axis])
        return (row, *rest)

    def reduced(self, reduction: ra.Reduction, at: Point) -> Expr:
        """Return the value of a reduction that an earlier nest computed."""
        if self.empty(reduction):
            return Const(reduction.combiner.identity, reduction.dtype)
        saved = self.find(reduction, at.guards, inner=at.inner)
        assert saved is not None, "hoist has been there"
        return Load(saved.buffer, self.element(saved.axes, at), reduction.at)

    def is_given(self, expr: ra.Expr, guards: Guards) -> bool:
        """Return whether an expression needs no nests: it is zero, or is computed when parameters are bound."""
        return self.empty(expr) or self.constant(expr, guards) is not None

    def empty(self, expr: ra.Expr) -> bool:
        """Return whether an expression is known to be zero, or to be reduced over no children."""
        over_none = isinstance(expr, ra.ChildReduce) and self.known.leaf is True
        return over_none or self.translator.is_zero(expr)

    def find(self, reduction: ra.Reduction, guards: Guards, *, inner: bool) -> SavedReduction | None:
        """Return the saved value of a reduction that is available where `guards` hold, or None."""
        saved = self.saved.get(reduction, ())
        return next((one for one in saved if one.serves(guards, inner=inner)), None)

    def hoist(self, expr: ra.Expr, scope: tuple[Axis, ...], guards: Guards, name: str) -> Iterator[Stmt]:
        """Yield the nests of the reductions in `expr`, innermost first; `scope` are the axes around it."""
        if self.is_given(expr, guards):
            return
        match expr:
            case ra.Where():
                for part, holds in self.branches(expr, guards):
                    yield from self.hoist(part, scope, holds, name)
            case ra.DenseReduce() | ra.ChildReduce() | ra.NodeReduce():
                inner = any(isinstance(axis, ChildVar) for axis in scope)
                if self.find(expr, guards, inner=inner) is None:
                    yield from self.hoist(expr.body, within(scope, expr), guards, name)
                    saved = self.keep(expr, scope, guards, name)
                    if not saved.nested:
                        yield self.accumulate(expr, saved, Point(self.node))
            case _:
                for operand in ra.operands(expr):
                    yield from self.hoist(operand, scope, guards, name)

    def branches(self, expr: ra.Where, guards: Guards) -> Iterator[tuple[ra.Expr, Guards]]:
        """Yield the operands of `where` that may be evaluated in the case, each with the guards around it."""
        condition, decided = expr.condition, self.known.truth(expr.condition)
        if decided is not None:
            yield (expr.if_true if decided else expr.if_false), guards
            return
        yield condition, guards
        yield expr.if_true, (*guards, (condition, True))
        yield expr.if_false, (*guards, (condition, False))

    def keep(
        self, reduction: ra.Reduction, scope: tuple[Axis, ...], guards: Guards, name: str
    ) -> SavedReduction:
        """Return a new buffer for a reduction's value, over children first and the other axes that it depends on."""
        guards = guards if self.carrier else needed_guards(reduction, guards)
        axes, over_children = used_axes(reduction, scope, guards)
        nested = over_children > 1
        in_children = any(isinstance(axis, ChildVar) for axis in scope)
        inner = in_children and not over_children and self.known.leaf is None
        buffer = self.accumulator(reduction, axes, f"{name}_{reduction.combiner.value}")
        saved = SavedReduction(buffer, axes, guards, nested, inner)
        self.saved.setdefault(reduction, []).append(saved)
        return saved

    def accumulate(self, reduction: ra.Reduction, saved: SavedReduction, at: Point) -> Stmt:
        """Return the nest that reduces for each of the axes; where a guard fails, the identity remains.

        A guard that is the same for all elements stands around the nest, which so can be tiled.
        """
        buffer, start = saved.buffer, Const(reduction.combiner.identity, reduction.dtype)
        init, update = Label(buffer.name), Label(buffer.name)
        around = self.translator.guards(saved.guards, at) if saved.is_guarded_as_one else None
        nested = list(self.nested(reduction.body, saved.guards, at.inner or saved.inner))
        in_lanes = is_in_lanes(reduction) and not nested
        inner_loops = inner_axes(saved, nested)
        inside = set(inner_loops)
        outer_loops = tuple(axis for axis in saved.axes if axis not in inside)

        def start_at(at: Point, label: Label) -> Stmt:
            return Store(label, buffer, self.element(saved.axes, at), start, reduction.at)

        def reduce(at: Point) -> Stmt:
            at = replace(at, inner=at.inner or saved.inner)

            def update_at(var: Var, inner: Point) -> Stmt:
                value, combiner = self.translator.expr(reduction.body, inner), reduction.combiner
                indices = self.element(saved.axes, replace(at, indices=inner.indices))
                return Reduce(update, buffer, indices, combiner, value, (var,), start, reduction.at)

            def step(var: Var, inner: Point) -> Stmt:
                before = self.before(reduction.body, inner)
                return block(*before, self.loops(inner_loops, inner, lambda point: update_at(var, point)))

            given = at.given(*saved.guards)
            condition = None if around is not None else self.translator.guards(saved.guards, at)
            if in_lanes:
                assert isinstance(reduction, ra.DenseReduce), "no other is"
                loop = self.in_lanes(reduction, saved, given)
            elif isinstance(reduction, ra.ChildReduce):
                child = reduction.child
                loop = self.over_children(child, given, lambda p: step(p.children[child][0], p))
            elif isinstance(reduction, ra.NodeReduce):
                loop = self.over_nodes(reduction, given, step)
            else:
                index, var = reduction.index, Var(reduction.index.name)
                loop = For(var, Const(index.extent), step(var, given.with_index(index, Ref(var))))
            if saved.inner:
                has_children = Unary(UnaryOp.NOT, is_leaf(self.buffers.functions, at.node))
                condition = has_children if condition is None else both(has_children, condition)
            if condition is None and in_lanes:
                return loop  # it stores what the lanes are put together to
            guarded = loop if condition is None else If(condition, loop)
            return block(self.loops(inner_loops, at, lambda point: start_at(point, init)), guarded)

        nest = self.loops(outer_loops, at, reduce)
        if around is None:
            return nest
        other = Label(buffer.name)
        return If(around, nest, self.loops(saved.axes, at, lambda point: start_at(point, other)))

    def in_lanes(self, reduction: ra.DenseReduce, saved: SavedReduction, at: Point) -> Stmt:
        """Return the nests that reduce one element in lanes, which have a buffer of their own."""
        lane = ra.IndexVar("lane", LANES, dtype=INDEX)
        axes: tuple[Axis, ...] = (*(axis for axis in saved.axes if isinstance(axis, ChildVar)), lane)
        lanes = self.accumulator(reduction, axes, f"{saved.buffer.name}_lanes")
        return lane_nests(
            reduction,
            (saved.buffer, self.element(saved.axes, at)),
            lambda place: (lanes, self.element(axes, at.with_index(lane, place))),
            lambda place: self.translator.expr(reduction.body, at.with_index(reduction.index, place)),
        )

    def before(self, expr: ra.Expr, at: Point) -> Iterator[Stmt]:
        """Yield the nests that `expr` reads and that belong inside its loops."""
        found = {id(saved): (part, saved) for part, saved in self.nested(expr, at.guards, at.inner)}
        for reduction, saved in found.values():
            yield self.accumulate(reduction, saved, replace(at, guards=()))

    def nested(self, expr: ra.Expr, at: Guards, inner: bool) -> Iterator[tuple[ra.Reduction, SavedReduction]]:
        """Yield the nested reductions that `expr` reads."""
        match expr:
            case ra.Where():
                for part, holds in self.branches(expr, at):
                    yield from self.nested(part, holds, inner)
            case ra.DenseReduce() | ra.ChildReduce() | ra.NodeReduce():
                saved = self.find(expr, at, inner=inner)
                if saved is not None and saved.nested:
                    yield expr, saved
            case _:
                for operand in ra.operands(expr):
                    yield from self.nested(operand, at, inner)

    def accumulator(self, reduction: ra.Reduction, axes: tuple[Axis, ...], name: str) -> Buffer:
        """Return a new temporary over the node, or its edges, and the dense axes."""
        rest = tuple(Const(axis.extent) for axis in axes if isinstance(axis, ra.IndexVar))
        if self.of_structures:
            buffer = self.buffers.structures(name, reduction.dtype, rest)
        elif self.carrier is not None:
            buffer = self.buffers.carriers(name, reduction.dtype, rest, self.carrier.payload)
        elif any(isinstance(axis, ChildVar) for axis in axes):
            buffer = self.buffers.edges(name, reduction.dtype, rest)
        else:
            buffer = self.buffers.nodes(name, reduction.dtype, rest)
        self.buffers.reductions.append(buffer)
        return buffer
