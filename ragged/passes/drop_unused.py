"""Leave out the functions that a program no longer uses: their tables need not be filled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ragged.ir.expr import Call, Expr, Function
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.walk import all_expressions, subexpressions


def drop_unused(program: Program) -> Rewritten:
    """Return the program without the functions that no stage, buffer or function in use calls, and their facts.

    before::

        offset: prelude(p < rows + 1) = facts(prefix_sum(length))
        row: prelude(f < offset(rows)) = facts(owner(offset))

        with kernel:
            for f in parallel(offset(rows)):
                y[f] = tanh(x[f])

    after::

        offset: prelude(p < rows + 1) = facts(prefix_sum(length))
        ...

    What is known of a function in use stays known, so that the functions in its facts are in use as well.
    """
    shapes = (extent for buffer in program.buffers for extent in buffer.shape)
    used = called((*shapes, *(expr for stage in program.stages for expr in all_expressions(stage.body))))
    while True:
        facts = tuple(fact for fact in program.facts if fact.subject in used)
        named = [function for fact in facts for function in fact.functions]
        exprs = [expr for fact in facts for expr in fact.exprs]
        grown = used | set(named) | called((*exprs, *(expr for function in named for expr in _own(function))))
        if grown == used:
            break
        used = grown
    functions = tuple(function for function in program.functions if function in used)
    if len(functions) == len(program.functions):
        return Rewriter().finish(program, program)
    return Rewriter().finish(program, replace(program, functions=functions, facts=facts))


def called(exprs: Iterable[Expr]) -> set[Function]:
    """Return the functions that expressions call, those that their domains and bodies call included."""
    found: set[Function] = set()
    pending = list(exprs)
    while pending:
        for part in subexpressions(pending.pop()):
            if isinstance(part, Call) and part.function not in found:
                found.add(part.function)
                pending += _own(part.function)
    return found


def _own(function: Function) -> list[Expr]:
    """Return the expressions of a function's declaration."""
    body = [] if function.body is None else [function.body]
    return [*(param.extent for param in function.params), *body]
