"""From conditions of the IR over indices and sizes to isl's text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Call, Const, Expr, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import varies
from ragged.polyhedral.context import PolyhedralLimitError

_JOINED = {BinaryOp.ADD: "+", BinaryOp.SUB: "-"}
_COMPARED = {
    BinaryOp.EQ: "=", BinaryOp.LT: "<", BinaryOp.LE: "<=", BinaryOp.GT: ">", BinaryOp.GE: ">=",
}  # fmt: skip


@dataclass
class FormulaText:
    """Writes expressions as text; `indices` are the variables of the set.

    Whatever else is no sum, multiple, quotient or remainder by a number is a parameter: a size, a product of sizes, and
    a length at an index, which is another number for each value of that. `parameters` maps the names of parameters to
    what they stand for.
    """

    indices: Collection[Var]
    names: dict[Var, str] = field(default_factory=dict)
    parameters: dict[str, Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = {var: f"i{number}" for number, var in enumerate(self.indices)}

    def condition(self, expr: Expr) -> str:
        """Return a BOOL expression as text.

        Raises:
            PolyhedralLimitError: it reads data, or is no condition on sums of multiples of indices.
        """
        match expr:
            case Const(value=value, dtype=DType.BOOL):
                return "1 = 1" if value else "1 = 0"
            case Binary(op=BinaryOp.AND, lhs=lhs, rhs=rhs):
                return f"({self.condition(lhs)} and {self.condition(rhs)})"
            case Binary(op=BinaryOp.OR, lhs=lhs, rhs=rhs):
                return f"({self.condition(lhs)} or {self.condition(rhs)})"
            case Unary(op=UnaryOp.NOT, operand=operand):
                return f"not ({self.condition(operand)})"
            case Binary(op=BinaryOp.NE, lhs=lhs, rhs=rhs) if lhs.dtype.is_int:
                return f"not ({self.integer(lhs)} = {self.integer(rhs)})"
            case Binary(op=op, lhs=lhs, rhs=rhs) if op in _COMPARED and lhs.dtype.is_int:
                return f"({self.integer(lhs)} {_COMPARED[op]} {self.integer(rhs)})"
            case _:
                raise PolyhedralLimitError("no condition on sums of multiples of indices")

    def integer(self, expr: Expr) -> str:
        """Return an integer expression as text. Raises as `condition` does."""
        match expr:
            case Const(value=value):
                return f"({int(value)})"
            case Ref(var=var) if var in self.names:
                return self.names[var]
            case Unary(op=UnaryOp.NEG, operand=operand):
                return f"(-{self.integer(operand)})"
            case Binary(op=op, lhs=lhs, rhs=rhs) if op in _JOINED:
                return f"({self.integer(lhs)} {_JOINED[op]} {self.integer(rhs)})"
            case Binary(op=BinaryOp.MIN | BinaryOp.MAX as op, lhs=lhs, rhs=rhs):
                return f"{op.value}({self.integer(lhs)}, {self.integer(rhs)})"
            case Binary(op=BinaryOp.MUL, lhs=Const(value=value), rhs=rhs):
                return f"({int(value)} * {self.integer(rhs)})"
            case Binary(op=BinaryOp.MUL, lhs=lhs, rhs=Const(value=value)):
                return f"({int(value)} * {self.integer(lhs)})"
            case Binary(op=BinaryOp.FLOORDIV, lhs=lhs, rhs=Const(value=value)) if value > 0:
                return f"floor(({self.integer(lhs)}) / {int(value)})"
            case Binary(op=BinaryOp.MOD, lhs=lhs, rhs=Const(value=value)) if value > 0:
                return f"(({self.integer(lhs)}) mod {int(value)})"
            case _:
                return self._parameter(expr)

    def _parameter(self, expr: Expr) -> str:
        if varies(expr, self.names) and not isinstance(expr, Call):
            raise PolyhedralLimitError("no sum of multiples of indices")
        for name, known in self.parameters.items():
            if known == expr:
                return name
        name = f"p{len(self.parameters)}"
        self.parameters[name] = expr
        return name
