"""Expressions as Python functions of the frame that they are evaluated in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from ragged.errors import DataError, InternalError
from ragged.ir.dtype import DType
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
    Unary,
    Var,
)
from ragged.ir.interpret import arithmetic
from ragged.ir.interpret.faults import OutOfBounds, OutOfDomain
from ragged.ir.interpret.memory import Array, Cells, Frame, Value, View
from ragged.ir.ops import BinaryOp
from ragged.ir.stmt import For

Evaluate: TypeAlias = Callable[[Frame], Value]


@dataclass(slots=True)
class Evaluator:
    """Turns expressions into functions; `sizes` and `tables` are what is known of the program's functions."""

    sizes: dict[Function, int] = field(default_factory=dict)
    tables: dict[Function, Array] = field(default_factory=dict)
    bodies: dict[Function, Evaluate] = field(default_factory=dict)

    def compile(self, expr: Expr) -> Evaluate:
        """Return a function that evaluates `expr` in a frame."""
        match expr:
            case Const(value=value, dtype=dtype):
                constant = arithmetic.scalar(dtype)(value)
                return lambda frame: constant
            case Ref(var=var):
                return _variable(var)
            case Load():
                return self._load(expr)
            case Call():
                return self._call(expr)
            case Unary(op=op, operand=operand):
                return self._apply(arithmetic.unary(op, operand.dtype), expr.dtype, operand)
            case Binary(op=BinaryOp.AND, lhs=lhs, rhs=rhs):
                left, right = self.compile(lhs), self.compile(rhs)
                return lambda frame: left(frame) and right(frame)
            case Binary(op=BinaryOp.OR, lhs=lhs, rhs=rhs):
                left, right = self.compile(lhs), self.compile(rhs)
                return lambda frame: left(frame) or right(frame)
            case Binary(op=op, lhs=lhs, rhs=rhs):
                return self._apply(arithmetic.binary(op, lhs.dtype), expr.dtype, lhs, rhs)
            case Fma(a=a, b=b, c=c, dtype=dtype):
                return self._apply(arithmetic.fma(a.dtype, dtype), dtype, a, b, c)
            case Select(condition=condition, if_true=if_true, if_false=if_false):
                test, yes, no = self.compile(condition), self.compile(if_true), self.compile(if_false)
                return lambda frame: yes(frame) if test(frame) else no(frame)
            case Cast(dtype=dtype, operand=operand):
                return self._apply(arithmetic.cast(operand.dtype, dtype), dtype, operand)
            case _:
                assert_never(expr)

    def indices(self, exprs: tuple[Expr, ...]) -> Callable[[Frame], tuple[int, ...]]:
        """Return a function that evaluates several expressions, left to right."""
        match [self.compile(expr) for expr in exprs]:
            case [first]:
                return lambda frame: (first(frame),)
            case [first, second]:
                return lambda frame: (first(frame), second(frame))
            case parts:
                return lambda frame: tuple([part(frame) for part in parts])

    def placed(self, place: str, expr: Expr) -> Evaluate:
        """Return a function that evaluates what a statement holds, and first notes that statement."""
        evaluate = self.compile(expr)

        def placed(frame: Frame) -> Value:
            frame.place = place
            return evaluate(frame)

        return placed

    def extent(self, loop: For) -> Evaluate:
        """Return a function that evaluates how often a loop runs."""
        return self.placed(f"loop {loop.var.name}", loop.extent)

    def allocation(self, buffer: Buffer) -> Callable[[Frame], None]:
        """Return a function that gives a frame memory for `buffer`."""
        shape = self.indices(buffer.shape)

        def allocate(frame: Frame) -> None:
            frame.place = f"alloc {buffer.name}"
            frame.views[buffer] = new_view(buffer, shape(frame), frame)

        return allocate

    def _apply(self, operator: Callable[..., Value], dtype: DType, *operands: Expr) -> Evaluate:
        """Return a function that applies an operator to its operands' values; an integer result must fit `dtype`."""
        apply = _apply_to(operator, [self.compile(operand) for operand in operands])
        return _fitting(apply, dtype) if dtype.is_int else apply

    def _load(self, load: Load) -> Evaluate:
        buffer, dtype, indices = load.buffer, load.dtype, self.indices(load.indices)
        if dtype.is_float:
            return lambda frame: frame.read(view_of(frame, buffer), indices(frame))
        scalar = arithmetic.scalar(dtype)
        return lambda frame: scalar(frame.read(view_of(frame, buffer), indices(frame)))

    def _call(self, call: Call) -> Evaluate:
        function, args = call.function, self.indices(call.args)
        if function.is_size:
            return lambda frame: self._size(function)
        if function.is_array:
            return self._look_up(function, args)
        return lambda frame: self._unfold(frame, function, args(frame))

    def _size(self, function: Function) -> int:
        try:
            return self.sizes[function]
        except KeyError:
            raise DataError(f"size '{function.name}' is used and was not given") from None

    def _look_up(self, function: Function, args: Callable[[Frame], tuple[int, ...]]) -> Evaluate:
        tables, scalar = self.tables, arithmetic.scalar(function.dtype)

        def evaluate(frame: Frame) -> Value:
            place = args(frame)
            try:
                table = tables[function]
            except KeyError:
                raise DataError(f"array '{function.name}' is read and was not given") from None
            for arg, extent in zip(place, table.shape, strict=True):
                if not 0 <= arg < extent:
                    raise frame.fault(OutOfDomain, f"{_call_text(function, place)} is outside {table.shape}")
            return scalar(table[place])

        return evaluate

    def _unfold(self, frame: Frame, function: Function, args: tuple[int, ...]) -> Value:
        """Evaluate a function's body in a frame where its parameters alone are bound."""
        assert function.body is not None, "neither a size nor an array"
        inner = Frame({}, frame.views, frame.regions, frame.place)
        for param, arg in zip(function.params, args, strict=True):
            extent = self.compile(param.extent)(inner)
            if not 0 <= arg < extent:
                raise frame.fault(
                    OutOfDomain, f"{_call_text(function, args)}: {arg} is outside [0, {extent})"
                )
            inner.vars[param.var] = arg
        if function not in self.bodies:
            self.bodies[function] = self.compile(function.body)
        return self.bodies[function](inner)


def new_view(buffer: Buffer, shape: tuple[int, ...], frame: Frame) -> View:
    """Return `buffer` over memory that nothing has written, or over that of the buffer which it aliases."""
    if any(extent < 0 for extent in shape):
        raise frame.fault(OutOfBounds, f"'{buffer.name}' has the shape {shape}")
    if buffer.aliases is None:
        return View(buffer, shape, Cells.empty(buffer.dtype, math.prod(shape), len(frame.regions)))
    view = View(buffer, shape, view_of(frame, buffer.aliases).cells)
    if buffer.dtype is not buffer.aliases.dtype or view.size > view.cells.values.size:
        raise InternalError(f"'{buffer.name}' does not fit into '{buffer.aliases.name}', which it aliases")
    return view


def view_of(frame: Frame, buffer: Buffer) -> View:
    """Return a buffer's memory."""
    try:
        return frame.views[buffer]
    except KeyError:
        raise DataError(f"buffer '{buffer.name}' is used where it has no contents") from None


def _variable(var: Var) -> Evaluate:
    def evaluate(frame: Frame) -> Value:
        try:
            return frame.vars[var]
        except KeyError:
            raise InternalError(f"variable '{var.name}' is unbound in '{frame.place}'") from None

    return evaluate


def _apply_to(operator: Callable[..., Value], parts: list[Evaluate]) -> Evaluate:
    match parts:
        case [first]:
            return lambda frame: operator(first(frame))
        case [first, second]:
            return lambda frame: operator(first(frame), second(frame))
        case _:
            return lambda frame: operator(*[part(frame) for part in parts])


def _fitting(evaluate: Evaluate, dtype: DType) -> Evaluate:
    low, high = arithmetic.limits(dtype)

    def evaluate_checked(frame: Frame) -> Value:
        value = evaluate(frame)
        if not low <= value < high:
            raise frame.overflow(value, dtype)
        return value

    return evaluate_checked


def _call_text(function: Function, args: tuple[int, ...]) -> str:
    return f"{function.name}({', '.join(str(arg) for arg in args)})"
