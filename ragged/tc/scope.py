"""The names of a function and the typed expressions that use them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

import numpy as np

from ragged.ir import expr as ir
from ragged.ir.dtype import DType
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.tc import tree as tc
from ragged.tc.builtins import builtin
from ragged.tc.checked import LengthParameter, TensorVersion
from ragged.tc.errors import TcError, refuse
from ragged.tc.text import expression_text
from ragged.tc.types import BOOL, FLOAT, INT, canonical, computed, converted, is_float, is_int, join

Typed: TypeAlias = tuple[ir.Expr, str]
"""An expression of the IR, and its type."""

_BINARY = {
    "+": BinaryOp.ADD, "-": BinaryOp.SUB, "*": BinaryOp.MUL, "/": BinaryOp.DIV, "%": BinaryOp.MOD,
    "==": BinaryOp.EQ, "!=": BinaryOp.NE, "<": BinaryOp.LT, "<=": BinaryOp.LE, ">": BinaryOp.GT, ">=": BinaryOp.GE,
    "&&": BinaryOp.AND, "||": BinaryOp.OR,
}  # fmt: skip

_MOST_LETS = 256
"""The most reads of names for expressions in one statement, with those within them."""


@dataclass
class TcScope:
    """The meanings of names in one statement.

    `values` are sizes and scalar parameters by name, `lengths` the parameters that are lengths, `tensors` the current
    version of each tensor. `indices` are the statement's indices, in the order in which they were met. In a bound of
    `where` there are no tensors, and no further indices. In the extent of a dimension, `dims` has the index along each
    dimension before it, by the text of that one's extent.
    """

    values: dict[str, Typed]
    tensors: dict[str, TensorVersion]
    lets: dict[str, tc.LetClause] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    indices: dict[str, ir.Var] = field(default_factory=dict)
    in_bound: bool = False
    lengths: dict[str, LengthParameter] = field(default_factory=dict)
    dims: dict[str, ir.Var] | None = None
    _letting: list[str] = field(default_factory=list)
    _read_lets: int = 0

    def index(self, name: str) -> ir.Var:
        """Return the index of that name."""
        return self.indices.setdefault(name, ir.Var(name))

    def integer(self, node: tc.TcExpression, what: str) -> ir.Expr:
        """Return an integer expression; refused if it is none."""
        expr, type_ = self.typed(node)
        if not is_int(type_):
            raise refuse(
                f"{what} '{expression_text(node)}' is of type {type_}, and has to be an integer", node.at
            )
        return expr

    def typed(self, node: tc.TcExpression) -> Typed:
        """Return an expression and its type."""
        match node:
            case tc.NumberLiteral(value=int(value)):
                return ir.Const(value), INT if value < 2**31 else "int64"
            case tc.NumberLiteral(value=value):
                return ir.Const(value, DType.FLOAT32), FLOAT
            case tc.Name():
                return self._name(node)
            case tc.Access():
                return self._access(node)
            case tc.Prefix():
                return self._prefix(node)
            case tc.Infix():
                return self._infix(node)
            case tc.Conditional():
                return self._conditional(node)
            case tc.Conversion(type=type_, operand=operand):
                return self._conversion(canonical(type_), operand)
            case _:
                assert_never(node)

    # --- names ---------------------------------------------------------------------------------------------

    def _name(self, node: tc.Name) -> Typed:
        name = node.id
        if not self.in_bound:
            if name in self.lets and name not in self.indices:
                return self._let(node)
            if name in self.hidden or name in self.indices:
                return ir.Ref(self.index(name)), INT
        if name in self.values:
            return self.values[name]
        if self.in_bound:
            if name in self.indices:
                return ir.Ref(self.indices[name]), INT
            raise self._no_bound(node)
        if name in self.tensors:
            return self._load(self.tensors[name], (), node)
        return ir.Ref(self.index(name)), INT

    def _let(self, node: tc.Name) -> Typed:
        if node.id in self._letting:
            raise refuse(f"'{node.id}' is defined by itself", node.at)
        self._read_lets += 1
        if self._read_lets > _MOST_LETS:
            raise refuse(f"the names of 'where' stand for more than {_MOST_LETS} expressions", node.at)
        self._letting.append(node.id)
        try:
            return self.typed(self.lets[node.id].value)
        finally:
            self._letting.pop()

    def _no_bound(self, node: tc.Name | tc.Access) -> TcError:
        name = node.id if isinstance(node, tc.Name) else node.name
        return refuse(
            f"'{name}' cannot be used in the bounds of a range",
            node.at,
            "bounds are expressions of sizes, of integer parameters, and of indices of the statement: loops are sized "
            "before data is read",
        )

    def _access(self, node: tc.Access) -> Typed:
        function = builtin(node.name)
        if function is not None:
            return self._call(node)
        if node.name in self.lengths:
            return self._length(node)
        if self.in_bound:
            raise self._no_bound(node)
        version = self.tensors.get(node.name)
        if version is None:
            raise refuse(f"'{node.name}' is read, and is no tensor or function that is defined here", node.at)
        indices = tuple(self.integer(each, f"an index of '{node.name}'") for each in node.arguments)
        return self._load(version, indices, node)

    def _length(self, node: tc.Access) -> Typed:
        """Return a length: in the extent of a dimension at the indices along the dimensions of that text."""
        own, name = self.lengths[node.name], node.name
        if len(node.arguments) != own.version.rank:
            raise refuse(
                f"'{name}' has {own.version.rank} dimensions and is read at {len(node.arguments)} indices",
                node.at,
            )
        if self.dims is None:
            places = tuple(self.integer(each, f"an index of '{name}'") for each in node.arguments)
            return ir.Call(own.function, places, node.at), own.version.type
        along = [self.dims.get(expression_text(each)) for each in node.arguments]
        places = tuple(ir.Ref(var) for var in along if var is not None)
        if len(places) != len(along):
            raise refuse(
                f"'{expression_text(node)}' is no extent here",
                node.at,
                "lengths are given by the dimensions before, each named by its extent",
                fix=f"a dimension before it with the extent '{expression_text(node.arguments[along.index(None)])}'",
            )
        return ir.Call(own.function, places, node.at), own.version.type

    def _load(self, version: TensorVersion, indices: tuple[ir.Expr, ...], node: tc.Access | tc.Name) -> Typed:
        if len(indices) != version.rank:
            raise refuse(
                f"'{version.name}' has {version.rank} dimensions and is read at {len(indices)} indices",
                node.at,
            )
        return ir.Load(version.buffer, indices, node.at), version.type

    def witness(self, clause: tc.ExistsClause) -> ir.Load:
        """Return the access of `exists`; refused if it is none of a tensor."""
        expr, _ = self._access(clause.access)
        if not isinstance(expr, ir.Load):
            raise refuse(f"exists '{expression_text(clause.access)}': it is no read of a tensor", clause.at)
        return expr

    # --- operators -----------------------------------------------------------------------------------------

    def _call(self, node: tc.Access) -> Typed:
        function = builtin(node.name)
        assert function is not None
        if len(node.arguments) != function.arity:
            raise refuse(
                f"'{node.name}' takes {function.arity} arguments and is given {len(node.arguments)}", node.at
            )
        operands = [self._number(each, node.name) for each in node.arguments]
        type_ = FLOAT if function.of_floats else operands[0][1]
        for _, other in operands:
            type_ = join(type_, other)
        dtype = computed(type_)
        return function.build(*(converted(expr, dtype) for expr, _ in operands)), type_

    def _number(self, node: tc.TcExpression, what: str) -> Typed:
        expr, type_ = self.typed(node)
        if type_ == BOOL:
            raise refuse(
                f"'{what}' is of numbers, and '{expression_text(node)}' is a truth value",
                node.at,
                fix=f"float({expression_text(node)})",
            )
        return expr, type_

    def truth(self, node: tc.TcExpression, what: str) -> ir.Expr:
        """Return a truth value; refused if it is a number."""
        expr, type_ = self.typed(node)
        if type_ != BOOL:
            text = expression_text(node)
            raise refuse(
                f"'{what}' is of truth values, and '{text}' is of type {type_}",
                node.at,
                fix=f"compare it: {text} != 0",
            )
        return expr

    def _prefix(self, node: tc.Prefix) -> Typed:
        if node.op == "!":
            return ir.Unary(UnaryOp.NOT, self.truth(node.operand, "!"), node.at), BOOL
        expr, type_ = self._number(node.operand, node.op)
        if isinstance(expr, ir.Const):
            return ir.Const(-expr.value, expr.dtype), type_
        return ir.Unary(UnaryOp.NEG, expr, node.at), type_

    def _infix(self, node: tc.Infix) -> Typed:
        op = _BINARY[node.op]
        if op.is_logical:
            sides = (self.truth(node.lhs, node.op), self.truth(node.rhs, node.op))
            return ir.Binary(op, *sides, node.at), BOOL
        (lhs, left), (rhs, right) = self._number(node.lhs, node.op), self._number(node.rhs, node.op)
        type_ = join(left, right)
        if op is BinaryOp.MOD and is_float(type_):
            raise refuse("'%' is of integers", node.at, fix="fmod(a, b) is its function of floats")
        if op is BinaryOp.DIV and is_int(type_):
            op = BinaryOp.FLOORDIV
        if op in (BinaryOp.FLOORDIV, BinaryOp.MOD) and isinstance(rhs, ir.Const) and rhs.value == 0:
            raise refuse(f"'{expression_text(node)}' divides by 0", node.at)
        dtype = computed(type_)
        joined = ir.Binary(op, converted(lhs, dtype), converted(rhs, dtype), node.at)
        return joined, BOOL if op.is_comparison else type_

    def _conditional(self, node: tc.Conditional) -> Typed:
        condition = self.truth(node.condition, "?")
        (then, left), (orelse, right) = self.typed(node.if_true), self.typed(node.if_false)
        if (left == BOOL) != (right == BOOL):
            raise refuse("'?:' chooses between a number and a truth value", node.at)
        type_ = join(left, right)
        dtype = computed(type_)
        return ir.Select(condition, converted(then, dtype), converted(orelse, dtype), node.at), type_

    def _conversion(self, type_: str, operand: tc.TcExpression) -> Typed:
        expr, given = self.typed(operand)
        dtype = computed(type_)
        if type_ == BOOL:
            truth = (
                expr if given == BOOL else ir.Binary(BinaryOp.NE, expr, converted(ir.Const(0), expr.dtype))
            )
            return truth, BOOL
        if given == BOOL:
            one, zero = (converted(ir.Const(value), dtype) for value in (1, 0))
            return ir.Select(expr, one, zero), type_
        if isinstance(expr, ir.Const) and is_int(type_) and not -(2.0**63) <= expr.value < 2.0**63:
            raise refuse(f"{expression_text(operand)} is no {type_}", operand.at)
        return _rounded(converted(expr, dtype), type_), type_


def _rounded(expr: ir.Expr, type_: str) -> ir.Expr:
    """Return an expression rounded or wrapped to a type that is narrower than the one it is computed in."""
    stored = next((each for each in DType if each.value == type_), None)
    if stored is None or stored is expr.dtype:
        return expr
    if isinstance(expr, ir.Const):
        kept = (
            stored.nearest(expr.value) if stored.is_float else int(np.int64(expr.value).astype(stored.numpy))
        )
        return ir.Const(kept, expr.dtype)
    return ir.Cast(computed(type_), ir.Cast(stored, expr))
