"""Expressions as TIR."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, assert_never

from ragged.analysis.faults import is_lazy
from ragged.codegen.integers import add, mul, number, row_major
from ragged.codegen.load_tvm import tirx
from ragged.codegen.offsets import Offset
from ragged.codegen.ops import (
    MAX,
    MIN,
    TirExpr,
    TirStmt,
    dot,
    elementary,
    extreme,
    fma,
    from_bfloat16,
    is_held,
    library,
    literal,
    multiplied,
    negated,
    pair,
    to_bfloat16,
    unequal,
)
from ragged.ir.dtype import INDEX, DType
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import (
    Binary,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    Fma,
    Function,
    Load,
    Ref,
    Select,
    Source,
    Unary,
    Var,
)
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import subexpressions, variables

TirBuffer = Any
"""A tirx buffer, flat."""

_Key = tuple[Expr, frozenset[tuple[Var, int]]]
"""An index and, by identity, what stands for its variables."""

# Min and Max are of integers: of floats see `extreme`.
_NODES = {
    BinaryOp.ADD: tirx.Add,
    BinaryOp.SUB: tirx.Sub,
    BinaryOp.MUL: tirx.Mul,
    BinaryOp.DIV: tirx.Div,
    BinaryOp.FLOORDIV: tirx.FloorDiv,
    BinaryOp.MOD: tirx.FloorMod,
    BinaryOp.MIN: tirx.Min,
    BinaryOp.MAX: tirx.Max,
    BinaryOp.EQ: tirx.EQ,
    BinaryOp.NE: tirx.NE,
    BinaryOp.LT: tirx.LT,
    BinaryOp.LE: tirx.LE,
    BinaryOp.GT: tirx.GT,
    BinaryOp.GE: tirx.GE,
    BinaryOp.AND: tirx.And,
    BinaryOp.OR: tirx.Or,
}


@dataclass
class Expressions:
    """Turns expressions of one stage into TIR, given what stands for its variables, sizes, arrays and buffers.

    What unrolled copies have in common of an index is computed once in a `region`, by a binding before the statement
    that needs it first: LLVM takes long to find it in a tile's operands. What is `certain` may be read in any case.
    """

    variables: dict[Var, TirExpr] = field(default_factory=dict)
    sizes: dict[Function, TirExpr] = field(default_factory=dict)
    storage: dict[Function | Buffer, TirBuffer] = field(default_factory=dict)
    certain: AbstractSet[Load] = frozenset()
    _regions: list[dict[_Key, tuple[TirExpr, list[TirExpr]]]] = field(default_factory=list)
    _bindings: list[TirStmt] = field(default_factory=list)
    _conditional: int = 0
    _copies: int = 0
    _offsets: dict[tuple[Buffer, int], Offset] = field(default_factory=dict)
    _constant: dict[int, tuple[Expr, bool]] = field(default_factory=dict)

    @contextmanager
    def region(self) -> Iterator[None]:
        """Emit statements that run whenever the first of them does."""
        self._regions.append({})
        yield
        self._regions.pop()

    @contextmanager
    def conditional(self) -> Iterator[None]:
        """Emit what may not be evaluated, or not where the statement begins: no index is computed there for others."""
        self._conditional += 1
        yield
        self._conditional -= 1

    @contextmanager
    def copies(self) -> Iterator[None]:
        """Emit copies of statements."""
        self._copies += 1
        yield
        self._copies -= 1

    def bindings(self) -> list[TirStmt]:
        """Return the bindings that what was emitted since the last call needs before it."""
        taken, self._bindings = self._bindings, []
        return taken

    def emit(self, expr: Expr) -> TirExpr:
        """Return `expr` as a TIR expression of the same dtype."""
        match expr:
            case Const(value=value, dtype=dtype):
                return literal(value, dtype)
            case Ref(var=var):
                return self.variables[var]
            case Load(buffer=buffer):
                element = self.element(expr)
                return tirx.Cast("bool", element) if buffer.dtype is DType.BOOL else element
            case Call() | Binary() if expr.dtype is INDEX:
                return self._index(expr)
            case Call():
                return self._call(expr)
            case Unary(op=op, operand=operand):
                return self._unary(op, self.emit(operand), operand.dtype)
            case Binary():
                return self._binary(expr)
            case Fma(a=a, b=b, c=c):
                parts = self.emit(a), self.emit(b), self.emit(c)
                return dot(*parts) if a.dtype is DType.BFLOAT16X2 else fma(*parts, c.dtype)
            case Select(condition=condition, if_true=if_true, if_false=if_false):
                if not is_lazy(expr, self.certain):
                    return tirx.Select(self.emit(condition), self.emit(if_true), self.emit(if_false))
                decides = self.emit(condition)
                with self.conditional():
                    return tirx.if_then_else(decides, self.emit(if_true), self.emit(if_false))
            case Cast(operand=Cast(operand=kept) as wide) if is_held(kept.dtype, expr.dtype, wide.dtype):
                return self.emit(kept)
            case Cast(dtype=dtype, operand=operand):
                return cast(self.emit(operand), operand.dtype, dtype)
            case _:
                assert_never(expr)

    def element(self, load: Load) -> TirExpr:
        """Return the element that `load` reads, as it is in memory."""
        return tirx.BufferLoad(self.storage[load.buffer], [self.offset(load.buffer, load.indices)])

    def _index(self, expr: Binary | Call) -> TirExpr:
        """Return an index: the variable that holds it, where no copy of the statement has another value."""
        if not self._regions or not self._copies or not self._is_fixed(expr):
            return self._computed(expr)
        key = expr, frozenset((var, id(self.variables[var])) for var in variables(expr))
        for region in reversed(self._regions):
            if key in region:
                return region[key][0]
        copies, self._copies = self._copies, 0  # its parts are computed with it
        value = self._computed(expr)
        self._copies = copies
        if self._conditional or isinstance(value, tirx.Var):
            return value
        # not a `Bind`: TVM would simplify each with all that it is made of, which takes longer than LLVM
        zero, slot = literal(0, INDEX), tirx.decl_buffer((1,), INDEX.value, "at", scope="local")
        self._bindings += [tirx.AllocBuffer(slot), tirx.BufferStore(slot, value, [zero])]
        bound = tirx.BufferLoad(slot, [zero])
        self._regions[-1][key] = bound, [self.variables[var] for var in variables(expr)]
        return bound

    def _computed(self, expr: Binary | Call) -> TirExpr:
        return self._call(expr) if isinstance(expr, Call) else self._binary(expr)

    def _is_fixed(self, expr: Expr) -> bool:
        """Return whether an expression has one value in a region: it has no copy's number, nor memory that changes."""
        if any(type(self.variables[var]) is tirx.IntImm for var in variables(expr)):
            return False
        known = self._constant.get(id(expr))
        if known is None:
            known = self._constant[id(expr)] = expr, not any(map(_may_change, subexpressions(expr)))
        return known[1]

    def offset(self, buffer: Buffer, indices: tuple[Expr, ...]) -> TirExpr:
        """Return where in the flat storage of `buffer` the element at `indices` stands."""
        known = self._offsets.get((buffer, id(indices)))
        if known is None:
            known = self._offsets[buffer, id(indices)] = Offset.of(buffer, indices)
        constant = known.form.constant
        moving: list[Expr] = []
        for term, coefficient in known.form.terms.items():
            if isinstance(term, Ref) and type(value := self.variables[term.var]) is tirx.IntImm:
                constant += coefficient * int(value.value)
                moving.append(term)
            elif not self._is_fixed(term):
                moving.append(term)
        fixed, others = known.parts(tuple(moving))
        return add(add(self.emit(fixed), self.emit(others)), literal(constant, INDEX))

    def combine(self, op: BinaryOp, lhs: TirExpr, rhs: TirExpr, dtype: DType) -> TirExpr:
        """Return `lhs op rhs` of two operands of `dtype`, both evaluated."""
        if op is BinaryOp.DOT:
            return dot(lhs, rhs, literal(0.0, DType.FLOAT32))
        if op is BinaryOp.PAIR:
            return pair(lhs, rhs)
        if dtype.is_float:
            if op is BinaryOp.MUL:
                return multiplied(lhs, rhs, dtype)
            if op in (BinaryOp.MAX, BinaryOp.MIN):
                return extreme(MAX if op is BinaryOp.MAX else MIN, lhs, rhs, dtype)
            if op is BinaryOp.NE:
                return unequal(lhs, rhs)
        elif op is BinaryOp.ADD:
            return add(lhs, rhs)
        elif op is BinaryOp.MUL:
            return mul(lhs, rhs)
        elif op in (BinaryOp.FLOORDIV, BinaryOp.MOD) and _is_zero(rhs):  # which TVM would refuse to fold
            return rhs if op is BinaryOp.FLOORDIV else lhs
        return _NODES[op](lhs, rhs)

    def _call(self, call: Call) -> TirExpr:
        function, args = call.function, call.args
        if function.is_size:
            return cast(self.sizes[function], INDEX, function.dtype)
        if function.body is not None:
            return self._inlined(function, function.body, args)
        indices = zip(args, function.params, strict=True)
        offset = row_major((self.emit(arg), self.emit(param.extent)) for arg, param in indices)
        return cast(tirx.BufferLoad(self.storage[function], [offset]), function.storage, function.dtype)

    def _inlined(self, function: Function, body: Expr, args: tuple[Expr, ...]) -> TirExpr:
        """Return a function's body at `args`. LLVM sees to it that each argument is computed once."""
        values = [self.emit(arg) for arg in args]
        self.variables.update(zip((param.var for param in function.params), values, strict=True))
        return self.emit(body)

    def _unary(self, op: UnaryOp | Elementwise, operand: TirExpr, dtype: DType) -> TirExpr:
        match op:
            case UnaryOp.NEG:
                return negated(operand, dtype)
            case UnaryOp.NOT:
                return tirx.Not(operand)
            case UnaryOp.ABS if not dtype.is_float:
                return tirx.Max(operand, negated(operand, dtype))
            case UnaryOp.ABS:
                return library("fabs", operand, dtype)
            case Elementwise():
                return elementary(op, operand, dtype)
            case _:
                assert_never(op)

    def _binary(self, expr: Binary) -> TirExpr:
        lhs = self.emit(expr.lhs)
        if is_lazy(expr, self.certain):
            absent = literal(expr.op is BinaryOp.OR, DType.BOOL)
            with self.conditional():
                rhs = self.emit(expr.rhs)
            return tirx.if_then_else(lhs, *((absent, rhs) if expr.op is BinaryOp.OR else (rhs, absent)))
        return self.combine(expr.op, lhs, self.emit(expr.rhs), expr.lhs.dtype)


def _may_change(expr: Expr) -> bool:
    """Return whether a stage may change what an expression reads itself."""
    match expr:
        case Load():
            return True
        case Call(function=function) if function.body is not None:
            return any(map(_may_change, subexpressions(function.body)))
        case Call(function=function):
            return function.source is Source.PRELUDE
        case _:
            return False


def cast(value: TirExpr, old: DType, new: DType) -> TirExpr:
    """Return `value` of dtype `old` converted to `new`, as C does."""
    if old is new:
        return value
    if old is DType.BFLOAT16:
        return cast(from_bfloat16(value), DType.FLOAT32, new)
    if new is DType.BFLOAT16:
        return to_bfloat16(cast(value, old, DType.FLOAT32))
    return tirx.Cast(new.value, value)


def _is_zero(value: TirExpr) -> bool:
    return number(value.value if isinstance(value, tirx.Broadcast) else value) == 0
