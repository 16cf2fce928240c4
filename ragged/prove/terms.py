"""Index expressions as the solver's terms.

Integers are unbounded here. Integer overflow is undefined behaviour (`ragged.ir.interpret` refuses it), so a proof
holds for every program with defined behaviour; only a cast truncates: its value is within its type's limits, and that
of its operand where that is within them, too. Floats and elements of buffers are unconstrained constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import copysign
from typing import Any, TypeAlias, assert_never

import z3
from z3 import z3core

from ragged.errors import InternalError
from ragged.ir.dtype import DType
from ragged.ir.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Fma,
    Function,
    Load,
    Ref,
    Role,
    Select,
    Unary,
    Var,
)
from ragged.ir.formula import Forall
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.walk import subexpressions

Term: TypeAlias = Any
"""A term of the solver: an integer for an integer expression, a Boolean for a BOOL one."""

Scope: TypeAlias = Mapping[Var, Term]
"""What a function's parameters stand for."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A call that occurs: the function, its arguments and its value."""

    function: Function
    args: tuple[Term, ...]
    value: Term


@dataclass(slots=True)
class Translator:
    """Makes terms in one context, and notes the calls and variables that occur in them, in order."""

    context: Any = field(default_factory=z3.Context)
    calls: dict[tuple[object, ...], Occurrence] = field(default_factory=dict)
    vars: dict[Var, Term] = field(default_factory=dict)
    known: list[Term] = field(default_factory=list)
    instances: dict[tuple[int, ...], tuple[Forall, Scope, Term]] = field(default_factory=dict)
    _functions: dict[Function, Any] = field(default_factory=dict)
    _domains: dict[tuple[object, ...], tuple[tuple[Term, ...], Term]] = field(default_factory=dict)
    _opaque: dict[Expr, Term] = field(default_factory=dict)
    _literals: dict[int, Term] = field(default_factory=dict)
    _simplified: dict[int, tuple[Term, Term]] = field(default_factory=dict)
    _fresh: int = 0

    def term(self, expr: Expr, scope: Scope | None = None) -> Term:
        """Return the term of an expression; `scope` gives what variables stand for, if not for themselves.

        Sizes are not negative, and casts drop bits: that stands in `known`, which every query must assert.
        """
        if expr.dtype.is_float:
            return self._anything(expr, scope)
        match expr:
            case Const(value=value, dtype=dtype):
                return z3.BoolVal(bool(value), self.context) if dtype is DType.BOOL else self.int(int(value))
            case Ref(var=var):
                return self.var(var, scope)
            case Call():
                return self.call(expr.function, *(self.term(arg, scope) for arg in expr.args))
            case Unary():
                return self._unary(expr, scope)
            case Binary():
                if not expr.lhs.dtype.is_int and expr.lhs.dtype is not DType.BOOL:
                    return self._anything(expr, scope)
                return self._binary(expr.op, self.term(expr.lhs, scope), self.term(expr.rhs, scope))
            case Select(condition=condition, if_true=if_true, if_false=if_false):
                test, yes, no = (self.term(part, scope) for part in (condition, if_true, if_false))
                return z3.If(test, yes, no)
            case Cast():
                return self._cast(expr, scope)
            case Load() | Fma():
                return self._anything(expr, scope)
            case _:
                assert_never(expr)

    def int(self, value: int) -> Term:
        """Return an integer literal."""
        if value not in self._literals:
            self._literals[value] = z3.IntVal(value, self.context)
        return self._literals[value]

    def call(self, function: Function, *args: Term) -> Term:
        """Return the value of a function, and note that this call occurs; a body is unfolded."""
        args = tuple(map(self._simplify, args))
        key = (function, *(arg.get_id() for arg in args))
        if key not in self.calls:
            self.calls[key] = Occurrence(function, args, self._value(function, args))
        return self.calls[key].value

    def _simplify(self, term: Term) -> Term:
        key = term.get_id()
        if key not in self._simplified:
            self._simplified[key] = term, z3.simplify(term)  # `term` kept: ids are of terms that live
        return self._simplified[key][1]

    def domain(self, function: Function, args: tuple[Term, ...]) -> Term:
        """Return the condition that `args` lie in the domain of `function`."""
        key = (function, *(arg.get_id() for arg in args))
        if key in self._domains:
            return self._domains[key][1]
        scope: dict[Var, Term] = {}
        bounds = []
        for param, arg in zip(function.params, args, strict=True):
            bounds += self.within(arg, self.term(param.extent, scope))
            scope[param.var] = arg
        self._domains[key] = args, self.every(bounds)  # `args` kept: ids are of terms that live
        return self._domains[key][1]

    def within(self, index: Term, extent: Term) -> list[Term]:
        """Return that 0 <= index < extent."""
        return [combined(BinaryOp.GE, index, self.int(0)), combined(BinaryOp.LT, index, extent)]

    def every(self, conditions: list[Term]) -> Term:
        """Return the conjunction."""
        return conjunction(z3.BoolVal(True, self.context), *conditions)

    def implies(self, premises: list[Term], claim: Term) -> Term:
        """Return that `claim` holds where all premises do."""
        return implication(claim, *premises) if premises else claim

    def _value(self, function: Function, args: tuple[Term, ...]) -> Term:
        if function.body is not None:
            scope = {param.var: arg for param, arg in zip(function.params, args, strict=True)}
            return self.term(function.body, scope)
        if function not in self._functions:
            sorts = [z3.IntSort(self.context)] * len(function.params) + [self._sort(function.dtype)]
            self._functions[function] = z3.Function(self._name(function.name), *sorts)
            if function.is_natural:
                self.known.append(self._functions[function]() >= 0)
        return self._functions[function](*args)

    def var(self, var: Var, scope: Scope | None = None) -> Term:
        """Return the term of a variable."""
        if scope is not None and var in scope:
            return scope[var]
        if var not in self.vars:
            self.vars[var] = self._constant(var.name, var.dtype)
        return self.vars[var]

    def _unary(self, expr: Unary, scope: Scope | None) -> Term:
        operand = self.term(expr.operand, scope)
        match expr.op:
            case UnaryOp.NEG:
                return -operand
            case UnaryOp.ABS:
                return z3.If(operand < 0, -operand, operand)
            case UnaryOp.NOT:
                return z3.Not(operand)
            case _:
                raise InternalError(f"'{expr.op.value}' is not for {expr.dtype.value}")

    def _binary(self, op: BinaryOp, a: Term, b: Term) -> Term:
        match op:
            case BinaryOp.FLOORDIV:
                return _floordiv(a, b)
            case BinaryOp.MOD:
                return a - b * _floordiv(a, b)
            case BinaryOp.MIN:
                return z3.If(a < b, a, b)
            case BinaryOp.MAX:
                return z3.If(a > b, a, b)
            case BinaryOp.NE:
                return a != b
            case BinaryOp.AND:
                return conjunction(a, b)
            case BinaryOp.OR:
                return z3.BoolRef(z3core.Z3_mk_or(a.ctx_ref(), 2, (z3.Ast * 2)(a.ast, b.ast)), a.ctx)
            case BinaryOp.DIV | BinaryOp.PAIR | BinaryOp.DOT:
                raise InternalError(f"'{op.value}' is not for integers")
            case _:
                return combined(op, a, b)

    def _cast(self, expr: Cast, scope: Scope | None) -> Term:
        source, target = expr.operand.dtype, expr.dtype
        if source.is_float:
            return self._anything(expr, scope)
        operand = self.term(expr.operand, scope)
        if source is DType.BOOL:
            return operand if target is DType.BOOL else z3.If(operand, self.int(1), self.int(0))
        if target is DType.BOOL:
            return operand != 0
        (low, high), (least, greatest) = source.limits, target.limits
        if least <= low and high <= greatest:
            return operand
        kept = self._constant("cast", target)
        self.known += [kept >= least, kept <= greatest]
        self.known.append(z3.Implies(z3.And(operand >= least, operand <= greatest), kept == operand))
        return kept

    def _anything(self, expr: Expr, scope: Scope | None) -> Term:
        """Return a constant that can be anything: the same for the same expression, where nothing can change it."""
        if scope is not None or not all(_is_stable(part) for part in subexpressions(expr)):
            return self._constant("any", expr.dtype)
        if expr not in self._opaque:
            self._opaque[expr] = self._constant("any", expr.dtype)
        return self._opaque[expr]

    def _constant(self, name: str, dtype: DType) -> Term:
        return z3.Const(self._name(name), self._sort(dtype))

    def _name(self, name: str) -> str:
        """Return a name that nothing else has: symbols are compared by identity, the solver's by name."""
        self._fresh += 1
        return f"{name}!{self._fresh}"

    def _sort(self, dtype: DType) -> Any:
        """Return the sort of a dtype; of a float, nothing but its being some value is known."""
        if dtype.is_float:
            return z3.DeclareSort("float", self.context)
        return z3.BoolSort(self.context) if dtype is DType.BOOL else z3.IntSort(self.context)


_ARITHMETIC = {
    BinaryOp.ADD: z3core.Z3_mk_add,
    BinaryOp.SUB: z3core.Z3_mk_sub,
    BinaryOp.MUL: z3core.Z3_mk_mul,
}
_COMPARISONS = {
    BinaryOp.EQ: z3core.Z3_mk_eq,
    BinaryOp.LT: z3core.Z3_mk_lt,
    BinaryOp.LE: z3core.Z3_mk_le,
    BinaryOp.GT: z3core.Z3_mk_gt,
    BinaryOp.GE: z3core.Z3_mk_ge,
}


def combined(op: BinaryOp, a: Term, b: Term) -> Term:
    """Return `a op b` of two terms of one sort, without z3py's check of the sorts, which takes longer."""
    if op in _COMPARISONS:
        return z3.BoolRef(_COMPARISONS[op](a.ctx_ref(), a.ast, b.ast), a.ctx)
    return z3.ArithRef(_ARITHMETIC[op](a.ctx_ref(), 2, (z3.Ast * 2)(a.ast, b.ast)), a.ctx)


def conjunction(first: Term, *others: Term) -> Term:
    """Return `z3.And(first, *others)`, without the check of each term's sort that takes most of its time."""
    terms = (first, *others)
    array = (z3.Ast * len(terms))(*(term.ast for term in terms))
    return z3.BoolRef(z3core.Z3_mk_and(first.ctx_ref(), len(terms), array), first.ctx)


def implication(claim: Term, *premises: Term) -> Term:
    """Return `z3.Implies(z3.And(*premises), claim)`, likewise."""
    every = conjunction(*premises)
    return z3.BoolRef(z3core.Z3_mk_implies(claim.ctx_ref(), every.ast, claim.ast), claim.ctx)


def _is_stable(expr: Expr) -> bool:
    """Return True unless one use of this expression may be something else than another that equals it.

    A statement may change what stands in a buffer in between.
    """
    match expr:
        case Load(buffer=buffer):
            return buffer.role in (Role.PARAMETER, Role.PAYLOAD)
        case Const(value=value, dtype=dtype) if dtype.is_float:
            return value != 0 or copysign(1.0, value) > 0  # -0.0 equals 0.0, and divides to something else
        case _:
            return True


def _floordiv(a: Term, b: Term) -> Term:
    """Return the quotient rounded toward minus infinity; the solver's leaves a remainder that is not negative."""
    if z3.is_int_value(b) and b.as_long() > 0:
        return a / b
    return z3.If(b > 0, a / b, (-a) / (-b))
