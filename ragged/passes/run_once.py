"""Loops of one iteration around what stands outside of parallel loops, so that workers can share the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from ragged.ir.expr import Const, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import Check, For, LoopKind, Stmt, block
from ragged.ir.walk import flat, statements


def run_once(program: Program) -> Rewritten:
    """Return the program with sequential parts of its kernel in parallel loops of one iteration, if it has others.

    before::

        for p in parallel(P):
            part[p] = x[p] * x[p]
        total[()] = 0.0
        for p in serial(P):
            total[()] += part[p]

    after::

        for p in parallel(P):
            part[p] = x[p] * x[p]
        for once in parallel(1):
            total[()] = 0.0
            for p in serial(P):
                total[()] += part[p]

    `distribute_over_team` refuses what every worker would execute; so one worker does.
    """
    parts = flat(program.kernel)
    if all(map(_is_sequential, parts)) or not any(map(_is_sequential, parts)):
        return Rewriter().finish(program, program)
    body = block(*_wrapped(parts))
    stages = tuple(
        replace(each, body=body) if each.kind is StageKind.KERNEL else each for each in program.stages
    )
    return Rewriter().finish(program, replace(program, stages=stages))


def _is_sequential(stmt: Stmt) -> bool:
    """Return whether a part stores, or is loops around stores, one after another."""
    return all(
        each.kind is LoopKind.SERIAL if isinstance(each, For) else not isinstance(each, Check)
        for each in statements(stmt)
    )


def _wrapped(parts: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Yield the parts, sequential ones that follow each other in one loop."""
    for sequential, run in groupby(parts, _is_sequential):
        if sequential:
            yield For(Var("once"), Const(1), block(*run), LoopKind.PARALLEL)
        else:
            yield from run
