"""The labels, loops and local buffers of a program in the order of the text.

Every step of a schedule asks this of the program that the step before it left, several times, and most statements of
that are statements of the program before: each keeps what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ragged.ir.program import Program
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Check,
    Contents,
    For,
    Let,
    Prefetch,
    Reduce,
    Stmt,
    Store,
)
from ragged.ir.walk import children


def index_of(program: Program) -> Contents:
    """Return the labels, loops and local buffers of a program, stage by stage; it keeps them."""
    try:
        kept: Contents = program._index
        return kept
    except AttributeError:
        found = _joined(contents(stage.body) for stage in program.stages)
        object.__setattr__(program, "_index", found)
        return found


def contents(stmt: Stmt) -> Contents:
    """Return the labels, loops and local buffers in a statement, which keeps them."""
    try:
        return stmt._index
    except AttributeError:
        match stmt:
            case Store() | Reduce() | Check() | Barrier() | Prefetch():
                found = Contents((stmt.label,), (), ())
            case For(body=body):
                labels, loops, buffers = contents(body)
                found = Contents(labels, (stmt.var, *loops), buffers)
            case Alloc(body=body):
                labels, loops, buffers = contents(body)
                found = Contents(labels, loops, (stmt.buffer, *buffers))
            case Let(body=body):
                found = contents(body)
            case _:
                found = _joined(map(contents, children(stmt)))
        object.__setattr__(stmt, "_index", found)
        return found


def _joined(parts: Iterable[Contents]) -> Contents:
    """Return what is in statements that stand one after another."""
    labels, loops, buffers = zip(*parts, strict=True) if (parts := list(parts)) else ((), (), ())
    return Contents(*(tuple(chain.from_iterable(each)) for each in (labels, loops, buffers)))
