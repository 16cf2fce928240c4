"""The program that counts the work of a call from its lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ragged.arith.fold import ONE, ZERO, at_least_zero, plus, times
from ragged.compiled.operations import cost, flops
from ragged.ir.dtype import INDEX
from ragged.ir.expr import Buffer, Const, Expr, Load, Ref, Role, Var
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import For, Label, Let, Reduce, Stmt, Store, block
from ragged.ir.walk import all_expressions, children, variables
from ragged.layout.prelude import nest
from ragged.passes.drop_unused import called

WORK = "work"
"""The name of the program's output."""

Loops: TypeAlias = tuple[tuple[Var, Expr], ...]


@dataclass(frozen=True, slots=True)
class _Term:
    """The work of each iteration of a loop nest: operations on floats, and cost as in `operations.cost`."""

    loops: Loops
    flops: int
    cost: int


def work_program(program: Program) -> Program:
    """Return the program that counts the work of a naive program's kernel: `work` int64 (2,), flops and cost.

    Both branches of a condition count. Independent extents are multiplied, so counting takes a step for each row, not
    for each element.
    """
    found = Buffer(WORK, INDEX, (Const(2),), Role.OUTPUT)
    start = [_store(found, k, ZERO) for k in range(2)]
    body = block(*start, *(_count(term, found) for term in _terms(program.kernel, (), {})))
    used = called(all_expressions(body))
    functions = tuple(function for function in program.functions if function in used)
    return Program(f"{program.name}_work", functions, (found,), (), (Stage(StageKind.KERNEL, body),))


def _terms(stmt: Stmt, loops: Loops, at: Mapping[Var, Expr]) -> Iterator[_Term]:
    """Yield the work inside `loops`, where variables have the values `at`."""
    match stmt:
        case For(var=var, extent=extent, body=body):
            own = Var(var.name)
            yield from _terms(body, (*loops, (own, substitute(extent, at))), {**at, var: Ref(own)})
        case Let(var=var, value=value, body=body):
            yield from _terms(body, loops, {**at, var: substitute(value, at)})
        case Store() | Reduce():
            yield _Term(loops, flops(stmt), cost(stmt))
        case _:
            for child in children(stmt):
                yield from _terms(child, loops, at)


def _count(term: _Term, found: Buffer) -> Stmt:
    """Return the statement that adds a term to the sums."""
    count: Expr = ONE
    needed: list[tuple[Var, Expr]] = []
    for var, extent in reversed(term.loops):
        if var in variables(count, *(inner for _, inner in needed)):
            needed.insert(0, (var, extent))
        else:
            count = times(at_least_zero(extent), count)
    own = Var("count")
    added = (
        _store(found, k, plus(Load(found, (Const(k),)), times(Ref(own), Const(each))))
        for k, each in enumerate((term.flops, term.cost))
        if each
    )
    return nest(needed, Let(own, count, block(*added)))


def _store(buffer: Buffer, place: int, value: Expr) -> Stmt:
    return Store(Label(WORK), buffer, (Const(place),), value)
