"""What stands directly in a loop, and what primitives know it by."""

from __future__ import annotations

from ragged.analysis.site_of import site_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.stmt import Alloc, Block, For, Label, Let, Reduce, Stmt, Store


def loop_of(program: Program, var: Var) -> For:
    """Return the loop over `var`, which is one of the program's."""
    found = site_of(program, var)
    assert found is not None and isinstance(found.stmt, For), "it is one of the program's"
    return found.stmt


def lets_of(body: Stmt) -> tuple[tuple[Let, ...], Stmt]:
    """Return the lets that a body begins with, outermost first, and what stands in them."""
    found: list[Let] = []
    while isinstance(body, Let):
        found.append(body)
        body = body.body
    return tuple(found), body


def parts_of(loop: For) -> list[Stmt]:
    """Return the statements directly in a loop, under its lets and allocations."""
    body = loop.body
    while isinstance(body, Let | Alloc):
        body = body.body
    return list(body.body) if isinstance(body, Block) else [body]


def name_of(part: Stmt) -> Label | Var:
    """Return what `fission` knows a statement by; `ScheduleError` if it has no name."""
    match part:
        case For(var=var):
            return var
        case Store(label=label) | Reduce(label=label):
            return label
        case _:
            raise ScheduleError(
                f"a {type(part).__name__} has no name to divide a body at",
                because="fission divides a body at a loop or at a statement with a label",
            )
