"""The expressions of the Recursive API: one node of a model, written over named indices.

The whole grammar::

    Node   = NodeVar(name)                      the n of a compute, fresh for each     (cortex.ra.node)
           | ChildAt(node, position)            n.left is n.child(0), n.right is n.child(1)
           | ChildVar(node, name)               "a child of node": the k of ra.K or of ra.sum_children
    Index  = Node | Expr of integers
    Expr   = Literal(value, dtype)
           | IndexVar(name, extent)             a dense index, 0 <= index < extent
           | Read(tensor, indices)
           | ToFloat(operand, dtype)            of an integer to float32
           | UnaryExpr(op, operand, dtype)
           | BinaryExpr(op, lhs, rhs, dtype)    arithmetic, comparison, logic
           | Where(condition, if_true, if_false, dtype)     only the branch chosen is evaluated
           | DenseReduce(combiner, index, body)             over 0 <= index < extent, in order
           | ChildReduce(combiner, child, body)             over the children in order; none: identity
           | NodeReduce(combiner, structure, node, body)    over a structure's nodes in post-order
           | IsLeaf(node) | NumChildren(node)

An expression's `dtype` is BOOL, INDEX (any integer) or FLOAT32 (any float). The operands of `BinaryExpr` and `Where`
have one type: integers are cast where the other is a float.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never, cast

from cortex.ra.base import ModelTensor as ModelTensor
from cortex.ra.base import Names, own_name
from cortex.ra.node import ChildVar, Computed, Node, NodeVar, StructureVar, python_branch
from cortex.ra.rules import LEVEL, SIGN, TIGHTEST, shown
from ragged.errors import Location, ModelError
from ragged.ir.dtype import DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.ops import BinaryOp, Combiner, UnaryOp
from ragged.lang.operators import Operators
from ragged.lang.types import FLOAT as FLOAT
from ragged.lang.types import KEEPS_INTEGERS, binary_type, mixes_types, typed_number, unary_type


@dataclass(frozen=True, slots=True, eq=False)
class Expression(Operators["Expr", "ExprLike"], Computed):
    """A scalar at each point of the indices in scope; `calls` says whether it depends on a recursive call's result."""

    _front_end = "ra"
    _reductions = "ra.sum over a dense index, ra.sum_children over the children of a node"
    dtype: DType = field(kw_only=True)
    at: Location | None = field(kw_only=True, default=None, repr=False)
    calls: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        reads_call = isinstance(self, Read) and self.tensor.calls
        object.__setattr__(self, "calls", reads_call or any(part.calls for part in operands(self._expr)))

    @property
    def _expr(self) -> Expr:
        return cast(Expr, self)  # the union at the end of the grammar is closed

    def text(self, names: Names = own_name) -> str:
        """Return the expression in infix; `names` gives the name of each tensor."""
        return self._text(names)

    @abstractmethod
    def _text(self, names: Names) -> str: ...

    def _with(self, op: BinaryOp, other: ExprLike) -> Expr:
        return binary(op, self._expr, other)

    def _after(self, op: BinaryOp, other: ExprLike) -> Expr:
        return binary(op, other, self._expr)

    def _under(self, op: UnaryOp | Elementwise) -> Expr:
        return unary(op, self._expr)

    def _choose(self, if_true: ExprLike, if_false: ExprLike) -> Expr:
        return Where(self._expr, *agree(if_true, if_false), dtype=FLOAT, at=Location.capture())

    def _branch(self) -> ModelError:
        return python_branch(self.text())


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expression):
    """A number or truth value."""

    value: float

    def _text(self, names: Names) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class IndexVar(Expression):
    """A dense index: 0 <= index < extent."""

    name: str
    extent: int

    def _text(self, names: Names) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Read(Expression):
    """An element of a tensor."""

    tensor: ModelTensor
    indices: tuple[Index, ...]

    def _text(self, names: Names) -> str:
        inner = (i.text() if isinstance(i, Node) else i.text(names) for i in self.indices)
        return f"{names(self.tensor)}[{', '.join(inner)}]"


@dataclass(frozen=True, slots=True, eq=False)
class ToFloat(Expression):
    """An integer as a float32."""

    operand: Expr

    def _text(self, names: Names) -> str:
        return f"float({self.operand.text(names)})"


@dataclass(frozen=True, slots=True, eq=False)
class UnaryExpr(Expression):
    """`op operand`."""

    op: UnaryOp | Elementwise
    operand: Expr

    def _text(self, names: Names) -> str:
        if self.op in (UnaryOp.NEG, UnaryOp.NOT):
            return ("-" if self.op is UnaryOp.NEG else "~") + _bracketed(self.operand, TIGHTEST, names)
        return f"{self.op.value}({self.operand.text(names)})"


@dataclass(frozen=True, slots=True, eq=False)
class BinaryExpr(Expression):
    """`lhs op rhs`."""

    op: BinaryOp
    lhs: Expr
    rhs: Expr

    def _text(self, names: Names) -> str:
        if self.op in (BinaryOp.MIN, BinaryOp.MAX):
            return f"{self.op.value}imum({self.lhs.text(names)}, {self.rhs.text(names)})"
        level = LEVEL[self.op]
        lhs = _bracketed(self.lhs, level + self.op.is_comparison, names)
        return f"{lhs} {SIGN[self.op]} {_bracketed(self.rhs, level + 1, names)}"


@dataclass(frozen=True, slots=True, eq=False)
class Where(Expression):
    """`if_true` or `if_false`, elementwise; only the one chosen is evaluated."""

    condition: Expr
    if_true: Expr
    if_false: Expr

    def _text(self, names: Names) -> str:
        return f"where({', '.join(part.text(names) for part in operands(self))})"


@dataclass(frozen=True, slots=True, eq=False)
class DenseReduce(Expression):
    """`body` combined over 0 <= index < extent, in this order or in lanes (`ra.sum`)."""

    combiner: Combiner
    index: IndexVar
    body: Expr

    def _text(self, names: Names) -> str:
        return _reduced(self, f"{self.index.name} < {self.index.extent}", names)


@dataclass(frozen=True, slots=True, eq=False)
class ChildReduce(Expression):
    """`body` combined over the children of a node in order; the combiner's identity if there are none."""

    combiner: Combiner
    child: ChildVar
    body: Expr

    def _text(self, names: Names) -> str:
        return _reduced(self, f"{self.child.name} in children({self.child.node.text()})", names)


@dataclass(frozen=True, slots=True, eq=False)
class NodeReduce(Expression):
    """`body` combined over the nodes of a structure in post-order."""

    combiner: Combiner
    structure: StructureVar
    node: NodeVar
    body: Expr

    def _text(self, names: Names) -> str:
        return _reduced(self, f"{self.node.name} in nodes({self.structure.text()})", names)


@dataclass(frozen=True, slots=True, eq=False)
class IsLeaf(Expression):
    """Whether a node has no child."""

    node: Node

    def _text(self, names: Names) -> str:
        return f"isleaf({self.node.text()})"


@dataclass(frozen=True, slots=True, eq=False)
class NumChildren(Expression):
    """The number of children of a node."""

    node: Node

    def _text(self, names: Names) -> str:
        return f"num_children({self.node.text()})"


Reduction: TypeAlias = DenseReduce | ChildReduce | NodeReduce
_Atom: TypeAlias = Literal | IndexVar | Read | IsLeaf | NumChildren
Expr: TypeAlias = _Atom | ToFloat | UnaryExpr | BinaryExpr | Where | Reduction
Index: TypeAlias = Node | Expr
ExprLike: TypeAlias = Expr | float
"""An expression, or a number of Python or NumPy."""


def operands(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct operands of `expr`, in the order they are written."""
    match expr:
        case Literal() | IndexVar() | IsLeaf() | NumChildren():
            return ()
        case Read(indices=indices):
            return tuple(i for i in indices if isinstance(i, Expr))
        case BinaryExpr(lhs=lhs, rhs=rhs):
            return (lhs, rhs)
        case Where(condition=condition, if_true=if_true, if_false=if_false):
            return (condition, if_true, if_false)
        case ToFloat(operand=inner) | UnaryExpr(operand=inner):
            return (inner,)
        case DenseReduce(body=inner) | ChildReduce(body=inner) | NodeReduce(body=inner):
            return (inner,)
        case _:
            assert_never(expr)


def _bracketed(expr: Expr, level: int, names: Names) -> str:
    own = LEVEL.get(expr.op, TIGHTEST) if isinstance(expr, BinaryExpr) else TIGHTEST
    return f"({expr.text(names)})" if own < level else expr.text(names)


def _reduced(expr: Reduction, over: str, names: Names) -> str:
    return f"{expr.combiner.value}({expr.body.text(names)} for {over})"


def lift(value: ExprLike) -> Expr:
    """Return a number as a literal, an expression unchanged; `ModelError` for anything else."""
    if isinstance(value, Expr):
        return value
    number, dtype = typed_number(value, shown, "h[n, i]")
    return Literal(number, dtype=dtype, at=Location.capture())


def as_float(value: ExprLike) -> Expr:
    """Return the value as a float: integers are cast, truth values refused."""
    expr = lift(value)
    if expr.dtype is DType.BOOL:
        raise mixes_types(expr.text(), "a number is needed here", "ra.where(condition, 1.0, 0.0)")
    if isinstance(expr, Literal):
        return Literal(float(expr.value), dtype=FLOAT, at=expr.at)
    return expr if expr.dtype is FLOAT else ToFloat(expr, dtype=FLOAT, at=expr.at)


def agree(lhs: ExprLike, rhs: ExprLike) -> tuple[Expr, Expr]:
    """Return both sides in one type: integers if both are, floats otherwise; truth values stay."""
    left, right = lift(lhs), lift(rhs)
    return (left, right) if left.dtype is right.dtype else (as_float(left), as_float(right))


def binary(op: BinaryOp, lhs: ExprLike, rhs: ExprLike) -> Expr:
    """Return `lhs op rhs`; `/` is for floats, `//` and `%` for integers, `&` and `|` for truth values."""
    left, right = (as_float(lhs), as_float(rhs)) if op is BinaryOp.DIV else agree(lhs, rhs)
    dtype = DType.BOOL if op.is_comparison else left.dtype
    expr = BinaryExpr(op, left, right, dtype=dtype, at=Location.capture())
    binary_type(op, left.dtype, right.value if isinstance(right, Literal) else None, expr.text)
    return expr


def unary(op: UnaryOp | Elementwise, value: ExprLike) -> Expr:
    """Return `op value`; `~` is for truth values, negation and abs keep integers, other operators are for floats."""
    operand = lift(value) if op is UnaryOp.NOT or op in KEEPS_INTEGERS else as_float(value)
    expr = UnaryExpr(op, operand, dtype=operand.dtype, at=Location.capture())
    unary_type(op, operand.dtype, expr.text)
    return expr
