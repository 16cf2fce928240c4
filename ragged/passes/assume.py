"""The prelude's checks of the facts that proofs assumed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ragged.errors import InternalError
from ragged.ir.equal import equal_stmts
from ragged.ir.expr import Buffer, Call, Expr, Function, Source
from ragged.ir.fact import Fact
from ragged.ir.facts import Injective, Monotone, Owner, PrefixSum
from ragged.ir.program import Program, Stage, StageKind
from ragged.ir.stmt import Block, Check, For, If, Let, Stmt, block
from ragged.ir.walk import all_expressions, expressions, statements, subexpressions, written
from ragged.passes.check_injective import check_injective
from ragged.passes.fact_checks import fact_check


def assume(program: Program, facts: Collection[Fact]) -> Program:
    """Return the program with a prelude that checks `facts`, which are among the program's, before all else in it.

    before::

        with kernel:
            x[order(n)] = 1.0

    after `assume(program, (Monotone(order),))`::

        with prelude:
            for i in serial(rows - 1):
                check(order(i) <= order(i + 1), ...)
        with kernel:
            x[order(n)] = 1.0

    What the prelude checks already is not checked again; without facts the program stays as it was. The tables that
    checks need are declared as workspaces. A function that a prelude fills holds what its facts say by construction
    (`ragged.layout.derived`): only the lengths that it is made of are checked.
    """
    if not facts:
        return program
    old = program.stage(StageKind.PRELUDE)
    known = () if old is None else _parts(old.body)
    checks: list[Stmt] = []
    buffers = list(program.buffers)
    for fact in program.facts:
        if fact not in facts:
            continue
        stmt, table = _check(program, fact, f"{fact.subject.name}_seen")
        missing = _missing(stmt, known)
        if missing and table is not None:
            stmt, table = _check(program, fact, program.free_name(table.name))
            missing = _parts(stmt)
            buffers += [] if table is None else [table]
        checks += missing
    if not checks:
        return program
    bodies = {stage.kind: stage.body for stage in program.stages}
    bodies[StageKind.PRELUDE] = block(*_in_read_order((*checks, *known)))
    stages = tuple(Stage(kind, bodies[kind]) for kind in StageKind if kind in bodies)
    return replace(program, buffers=tuple(buffers), stages=stages)


def _check(program: Program, fact: Fact, name: str) -> tuple[Stmt, Buffer | None]:
    """Return the statements that check `fact`, and the table of that name if they need one."""
    subject = fact.subject
    is_filled = subject.source is Source.PRELUDE
    if isinstance(fact, Injective):
        if is_filled:
            raise InternalError(f"no prelude fills '{subject.name}' so that it is injective")
        made = check_injective(subject, program.facts, name)
        return made.stmt, made.table
    return fact_check(
        fact, subject if is_filled and isinstance(fact, PrefixSum | Owner | Monotone) else None
    ), None


def _in_read_order(parts: Sequence[Stmt]) -> list[Stmt]:
    """Return statements such that one that checks an index comes before those that read through that index.

    Checks of sizes alone come first. Those from the first one that stores anything stay behind the others, as they are.
    So a wrong index is reported as such, and not as what it leads to.
    """
    first = next((at for at, part in enumerate(parts) if written(part)), len(parts))
    rest = parts[first:]
    checks = sorted(parts[:first], key=lambda part: any(_called(expr) for expr in all_expressions(part)))
    checked = [_checked(part) for part in checks]
    leading = [_leading(part) for part in checks]
    ordered: list[int] = []
    seen: set[int] = set()

    def visit(at: int) -> None:
        if at not in seen:
            seen.add(at)
            for other in range(len(checks)):
                if checked[other] & leading[at]:
                    visit(other)
            ordered.append(at)

    for at in range(len(checks)):
        visit(at)
    return [*(checks[at] for at in ordered), *rest]


def _checked(part: Stmt) -> set[Function]:
    """Return the functions with values that a statement checks, and does not only use as arguments."""
    conditions = [inner.condition for inner in statements(part) if isinstance(inner, Check)]
    return _called(*conditions) - _leading(part)


def _leading(part: Stmt) -> set[Function]:
    """Return the functions that select the elements a statement reads: in loop bounds, lets and arguments."""
    inner = tuple(statements(part))
    exprs = [expr for stmt in inner if isinstance(stmt, For | Let | If) for expr in expressions(stmt)]
    pending = [expr for expr in all_expressions(part) if isinstance(expr, Call)]
    for call in pending:
        exprs += call.args
        if call.function.body is not None:
            pending += [each for each in subexpressions(call.function.body) if isinstance(each, Call)]
    return _called(*exprs)


def _called(*exprs: Expr) -> set[Function]:
    """Return the arrays and expressions, not the sizes, that expressions call."""
    calls = (part for expr in exprs for part in subexpressions(expr) if isinstance(part, Call))
    return {call.function for call in calls if call.function.params}


def _missing(stmt: Stmt, known: Iterable[Stmt]) -> tuple[Stmt, ...]:
    """Return the parts of a statement that are not among `known`, under whatever names."""
    return tuple(part for part in _parts(stmt) if not any(equal_stmts(part, each) for each in known))


def _parts(stmt: Stmt) -> tuple[Stmt, ...]:
    return stmt.body if isinstance(stmt, Block) else (stmt,)
