"""Expressions of the Recursive API as expressions of the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from cortex.ilir.loops import is_leaf
from cortex.ra import expr as ra
from cortex.ra.base import ModelTensor, S
from cortex.ra.lower.buffers import Buffers
from cortex.ra.lower.case_facts import CaseFacts
from cortex.ra.lower.keys import shifted
from cortex.ra.lower.zeros import Zeros
from cortex.ra.node import ChildAt, ChildVar, Node, NodeVar, StructureVar
from cortex.ra.sites import Guard
from cortex.ra.tensor import InputTensor, NodeInput, Placeholder
from ragged.errors import InternalError
from ragged.ir.build import add, both
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Binary, Buffer, Call, Cast, Const, Expr, Load, Ref, Role, Select, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp


@dataclass(frozen=True, slots=True)
class Point:
    """Where an expression is evaluated: node, children and indices.

    `children` maps each child variable in scope to its loop variable (the child's place) and the variable of the
    child's id; `indices` maps each dense index to its value; `guards` hold here. `inner` says that the node has
    children, because the expression is in a loop over them. In a loop over the nodes of a `structure`, `node` is one.
    """

    node: Expr
    children: Mapping[ChildVar, tuple[Var, Var]] = field(default_factory=dict)
    indices: Mapping[ra.IndexVar, Expr] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()
    inner: bool = False
    structure: Expr | None = None

    def with_child(self, child: ChildVar, place: Var, node: Var) -> Point:
        """Return the point within a loop over children."""
        return replace(self, children={**self.children, child: (place, node)}, inner=True)

    def with_index(self, index: ra.IndexVar, value: Expr) -> Point:
        """Return the point where a dense index has this value."""
        return replace(self, indices={**self.indices, index: value})

    def given(self, *guards: Guard) -> Point:
        """Return the point in the branches of `where` under these guards."""
        return replace(self, guards=(*self.guards, *guards))


Reduced = Callable[["ra.Reduction", Point], Expr]
"""Returns the value of a reduction, which has its own nest, at a point."""


@dataclass(frozen=True, slots=True, eq=False)
class ConstantPart:
    """The `buffer` of an expression of parameters alone, filled when they are bound: a value for each of `axes`."""

    buffer: Buffer
    axes: tuple[ra.IndexVar, ...]


ConstantParts = Callable[[ra.Expr, tuple[Guard, ...]], ConstantPart | None]
"""Returns where the value of an expression under some guards is, if it is computed when parameters are bound."""


def none_constant(_: ra.Expr, __: tuple[Guard, ...]) -> None:
    """Return that an expression is computed at each node."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """The place of a node among those that carry a payload: from 1 up; 0 for all others.

    Without a `payload`, the place of a root among roots, from 0 up.
    """

    payload: str | None
    place: Expr


@dataclass(frozen=True, slots=True)
class ExprLowering:
    """Translates expressions in one case of a model.

    `results` gives the buffer of a compute in this case; `reduced` the value of a reduction; `constant` what is
    computed when parameters are bound; `zeros`, if given, the zero expressions; `carrier`, if given, the place of the
    node among those that carry a payload.
    """

    buffers: Buffers
    known: CaseFacts
    results: Callable[[ModelTensor], Buffer]
    reduced: Reduced
    constant: ConstantParts
    zeros: Zeros | None = None
    carrier: Carrier | None = None

    def expr(self, expr: ra.Expr, at: Point) -> Expr:
        """Return the value of `expr` at a point; decided conditions and added zeros are folded."""
        where = expr.at
        if self.is_zero(expr):
            return Const(0.0, expr.dtype, where)
        known = self.known.constant(expr)
        if known is not None:
            return Const(known, INDEX, where)
        part = self.constant(expr, at.guards)
        if part is not None:
            return Load(part.buffer, (Const(0), *(at.indices[axis] for axis in part.axes)), where)
        match expr:
            case ra.BinaryExpr(op=BinaryOp.ADD, lhs=lhs, rhs=rhs) if self.is_zero(lhs):
                return self.expr(rhs, at)
            case ra.BinaryExpr(op=BinaryOp.ADD | BinaryOp.SUB, lhs=lhs, rhs=rhs) if self.is_zero(rhs):
                return self.expr(lhs, at)
            case ra.Literal(value=value, dtype=dtype):
                return Const(float(value) if dtype.is_float else int(value), dtype, where)
            case ra.IndexVar():
                return at.indices[expr]
            case ra.Read():
                return self.read(expr, at)
            case ra.ToFloat(operand=operand, dtype=dtype):
                return Cast(dtype, self.expr(operand, at), where)
            case ra.UnaryExpr(op=op, operand=operand):
                return Unary(op, self.expr(operand, at), where)
            case ra.BinaryExpr(op=op, lhs=lhs, rhs=rhs):
                return Binary(op, self.expr(lhs, at), self.expr(rhs, at), where)
            case ra.Where(condition=condition, if_true=if_true, if_false=if_false):
                decided = self.known.truth(condition)
                if decided is not None:
                    return self.expr(if_true if decided else if_false, at)
                return Select(
                    self.expr(condition, at),
                    self.expr(if_true, at.given((condition, True))),
                    self.expr(if_false, at.given((condition, False))),
                    where,
                )
            case ra.DenseReduce() | ra.ChildReduce() | ra.NodeReduce():
                return self.reduced(expr, at)
            case ra.IsLeaf(node=node):
                return is_leaf(self.buffers.functions, self.node(node, at))
            case ra.NumChildren(node=node):
                return Call(self.buffers.functions.num_children, (self.node(node, at),), where)
            case _:
                raise InternalError(f"no translation for {type(expr).__name__}")

    def is_zero(self, expr: ra.Expr) -> bool:
        """Return whether `expr` is known to be zero in this case."""
        return self.zeros is not None and self.zeros.holds(expr)

    def guards(self, guards: Iterable[Guard], at: Point) -> Expr | None:
        """Return the conjunction of the guards, each evaluated where those before it hold; None if empty."""
        holds: Expr | None = None
        for condition, way in guards:
            value = self.expr(condition, at)
            holds = both(holds, value if way else Unary(UnaryOp.NOT, value))
            at = at.given((condition, way))
        return holds

    def node(self, node: Node, at: Point) -> Expr:
        """Return the id of a node."""
        match node:
            case NodeVar():
                return at.node
            case ChildVar():
                return Ref(at.children[node][1])
            case ChildAt(node=parent, position=position):
                return Call(self.buffers.functions.positions[position], (self.node(parent, at),))
            case _:
                raise InternalError(f"no id for {type(node).__name__}")

    def edge(self, child: ChildVar, at: Point) -> Expr:
        """Return the number of the edge from a node to the child."""
        begin = Call(self.buffers.functions.child_begin, (self.node(child.node, at),))
        return add(begin, at.children[child][0])

    def read(self, read: ra.Read, at: Point) -> Expr:
        """Return the element of a tensor, or the default of a missing child."""
        match read:
            case ra.Read(tensor=Placeholder(default=float() as value), indices=(ChildAt() as child, *_)):
                default = Const(value, read.dtype, read.at)
                if self.known.leaf is True:
                    return default
                there, element = self.has_child(child, at), self.element(read, at)
                return element if there is None else Select(there, element, default, read.at)
            case _:
                return self.element(read, at)

    def has_child(self, child: ChildAt, at: Point) -> Expr | None:
        """Return whether a node has a child at a position, or None where it is known to."""
        there: Expr | None = None
        if self.known.leaf is None and not at.inner:
            there = Unary(UnaryOp.NOT, is_leaf(self.buffers.functions, self.node(child.node, at)))
        if child.position < self.buffers.model.plan().min_children:
            return there
        return both(there, Binary(BinaryOp.GE, self.node(child, at), Const(0)))

    def element(self, read: ra.Read, at: Point) -> Expr:
        """Return the element of a tensor; integers are cast to INDEX."""
        tensor, indices = read.tensor, self.indices(read, at)
        match tensor:
            case InputTensor():
                value: Expr = Load(self.buffers.parameters[tensor], indices, read.at)
            case NodeInput() if tensor in self.buffers.payloads:
                value = Load(self.buffers.payloads[tensor], indices, read.at)
            case NodeInput(name=name):
                value = Call(self.buffers.functions.payloads[name], indices, read.at)
            case Placeholder():
                value = Load(self.buffers.outputs[tensor], indices, read.at)
            case _:
                kept = self.results(tensor)
                value = Load(kept, self.row(kept, indices, at), read.at)
        return Cast(INDEX, value) if value.dtype.is_int and value.dtype is not INDEX else value

    def row(self, buffer: Buffer, indices: tuple[Expr, ...], at: Point) -> tuple[Expr, ...]:
        """Return the indices of a node's value in `buffer`.

        A bound value has one row, a table a row for each key, a listed buffer a row for each node with the payload.
        """
        keys = self.buffers.tables.get(buffer)
        if keys is not None:
            return (shifted(self.key(keys.payload, at), -keys.low), *indices[1:])
        if buffer in self.buffers.listed:
            payload, own = self.buffers.listed[buffer], self.carrier
            if own is not None and own.payload == payload and indices[0] == at.node:
                return (own.place, *indices[1:])
            assert payload is not None, "what roots have is read at roots"
            return (Call(self.buffers.functions.carriers[payload].place, indices[:1]), *indices[1:])
        return (Const(0), *indices[1:]) if buffer.role is Role.BOUND else indices

    def key(self, payload: str, at: Point) -> Expr:
        """Return the integer that the node carries."""
        known = self.known.number(payload)
        return (
            Const(known) if known is not None else Call(self.buffers.functions.payloads[payload], (at.node,))
        )

    def indices(self, read: ra.Read, at: Point) -> tuple[Expr, ...]:
        """Return the indices of a read; a node followed by one of its children is one edge."""
        found: list[Expr] = []
        for place, index in enumerate(read.indices):
            after_node = place > 0 and isinstance(read.indices[place - 1], NodeVar)
            if isinstance(index, ChildVar) and after_node:
                found[-1] = self.edge(index, at)
            elif read.tensor.shape[place] is S and at.structure is not None:
                found.append(at.structure)
            elif read.tensor.shape[place] is S and not isinstance(index, StructureVar):
                assert self.buffers.functions.members is not None
                found.append(Call(self.buffers.functions.members.of, (at.node,)))
            elif isinstance(index, Node):
                found.append(self.node(index, at))
            else:
                found.append(self.expr(index, at))
        return tuple(found)
