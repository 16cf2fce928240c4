"""Rules of what a program declares: functions, buffers and facts."""

from __future__ import annotations

from collections.abc import Iterator, Set

from ragged.ir.checks.refusal import refusal
from ragged.ir.expr import Buffer, Call, Expr, Function, Load, Ref, Role, Var
from ragged.ir.facts import (
    Descends,
    Fact,
    Follows,
    Injective,
    Layered,
    Monotone,
    Owner,
    PrefixSum,
    Range,
    Tiling,
    Uniform,
)
from ragged.ir.printer import Culprit, expr_text
from ragged.ir.program import Program
from ragged.ir.walk import subexpressions

NO_VARS: Set[Var] = frozenset()


def check_declared_once(program: Program) -> None:
    """Every function and buffer is declared once, and local buffers are not declared but allocated."""
    symbols: tuple[Function | Buffer, ...] = (*program.functions, *program.buffers)
    declared: set[Function | Buffer] = set()
    for symbol in symbols:
        if symbol in declared:
            raise refusal(program, symbol, f"'{symbol.name}' is declared twice")
        declared.add(symbol)
    for buffer in program.buffers:
        if buffer.role is Role.LOCAL:
            raise refusal(program, buffer, f"'{buffer.name}' is local: a statement allocates it")


def check_functions(program: Program) -> None:
    """A function's domain and body use what was declared before it and its own parameters: none recurses."""
    known: set[Function] = set()
    for function in program.functions:
        params: set[Var] = set()
        for param in function.params:
            _check_closed(program, function, param.extent, known, params)
            params.add(param.var)
        if function.body is not None:
            _check_closed(program, function, function.body, known, params)
        known.add(function)


def check_buffers(program: Program) -> None:
    """A buffer's shape uses declared functions alone, and what it aliases was declared before it."""
    known: set[Buffer] = set()
    for buffer in program.buffers:
        for extent in buffer.shape:
            _check_closed(program, buffer, extent, set(program.functions), NO_VARS)
        if len(buffer.dims) != len(buffer.shape):
            note = f"'{buffer.name}' has {len(buffer.shape)} dimensions and names {len(buffer.dims)}"
            raise refusal(program, buffer, note)
        if buffer.aliases is not None and buffer.aliases not in known:
            raise refusal(program, buffer, f"'{buffer.aliases.name}' is not declared before its alias")
        known.add(buffer)


def check_facts(program: Program) -> None:
    """Facts are about declared functions, of as many parameters as each kind of fact says."""
    declared = set(program.functions)
    for fact in program.facts:
        if isinstance(fact, Layered | Descends) and fact.layers < 1:
            raise refusal(program, fact, f"{fact.layers} heights make no step")
        for function in functions_of_fact(fact):
            if function not in declared:
                raise refusal(program, fact, f"a fact is about '{function.name}', which is not declared")
            if not isinstance(fact, Range) and len(function.params) != 1:
                kind = type(fact).__name__
                raise refusal(
                    program, fact, f"{kind} is for one parameter; '{function.name}' has another number"
                )
        owned = fact.function.params if isinstance(fact, Range | Uniform) else ()
        params = {param.var for param in owned}
        for expr in bounds_of_fact(fact):
            _check_closed(program, fact, expr, declared, params)


def functions_of_fact(fact: Fact) -> Iterator[Function]:
    """Yield the functions that a fact names, apart from what its bounds call."""
    match fact:
        case Range(function=function) | Monotone(function=function) | Injective(function=function):
            yield function
        case PrefixSum(offset=offset, length=length):
            yield from (offset, length)
        case Owner(owner=owner, offset=offset):
            yield from (owner, offset)
        case Tiling(begin=begin, length=length):
            yield from (begin, length)
        case Follows(pointer=pointer, begin=begin, length=length, via=via):
            yield from (pointer, begin, length)
            if via is not None:
                yield via
        case Uniform(function=function, begin=begin, length=length):
            yield from (function, begin, length)
        case Layered(top=top, begin=begin, group=group, height=height):
            yield from (top, begin, group, height)
        case Descends(pointer=pointer, group=group, height=height, via=via):
            yield from (pointer, group, height)
            if via is not None:
                yield via


def bounds_of_fact(fact: Fact) -> tuple[Expr, ...]:
    """Return the expressions that a fact has in it."""
    match fact:
        case Range(lower=lower, upper=upper):
            return (lower, upper)
        case Tiling(first=first, total=total):
            return (first, total)
        case Uniform(value=value):
            return (value,)
        case _:
            return ()


def _check_closed(
    program: Program, at: Culprit, expr: Expr, functions: Set[Function], params: Set[Var]
) -> None:
    """Refuse a declaration's `expr` if it uses more than `functions` and `params`."""
    for part in subexpressions(expr):
        match part:
            case Ref(var=var) if var not in params:
                raise refusal(program, at, f"'{var.name}' is no parameter of this declaration")
            case Call(function=function) if function is at:
                raise refusal(program, at, f"'{function.name}' is defined by itself")
            case Call(function=function) if function not in functions:
                raise refusal(program, at, f"'{function.name}' is not declared before it is used")
            case Load():
                raise refusal(program, at, f"a declaration reads a buffer: {expr_text(part)}")
            case _:
                pass
