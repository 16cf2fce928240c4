"""Rules of what a program declares: functions, buffers and facts."""

from __future__ import annotations

from collections.abc import Set

from ragged.errors import InternalError
from ragged.ir.checks.refusal import refusal
from ragged.ir.expr import Buffer, Call, Expr, Function, Load, Ref, Role, Var
from ragged.ir.fact import formulas_of
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
    """Facts are about declared functions, and their formulas are closed."""
    declared = set(program.functions)
    for fact in program.facts:
        for function in fact.functions:
            if function not in declared:
                raise refusal(program, fact, f"a fact is about '{function.name}', which is not declared")
        try:
            bound = {each.var for formula in formulas_of(fact) for each in formula.variables}
        except InternalError as fault:
            raise refusal(program, fact, f"{fact.name}: {fault.what}") from None
        for expr in fact.exprs:
            _check_closed(program, fact, expr, declared, bound)


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
