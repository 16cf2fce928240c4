"""Where one loop or one labelled statement of a program stands: only the constructs around it are visited."""

from __future__ import annotations

from ragged.ir.expr import Var
from ragged.ir.index import contents
from ragged.ir.program import Program
from ragged.ir.sites import Branch, Enclosing, Site
from ragged.ir.stmt import Alloc, For, If, Label, Let, Stmt
from ragged.ir.walk import children


def site_of(program: Program, name: Var | Label) -> Site | None:
    """Return the site of the loop over a variable, or of the statement with a label; None if there is none.

    It is the first in the order of the text if there are several. The cost is the depth of the program, not its length.
    """
    stage = next((stage for stage in program.stages if _holds(stage.body, name)), None)
    if stage is None:
        return None
    stmt: Stmt = stage.body
    around: list[Enclosing] = []
    while not is_named(stmt, name):
        if isinstance(stmt, For | Let | Alloc):
            around.append(stmt)
            stmt = stmt.body
        elif isinstance(stmt, If):
            taken = _holds(stmt.then, name)
            around.append(Branch(stmt, taken))
            stmt = stmt.then if taken or stmt.orelse is None else stmt.orelse
        else:
            stmt = next(inner for inner in children(stmt) if _holds(inner, name))
    return Site(stage, stmt, tuple(around))


def _holds(stmt: Stmt, name: Var | Label) -> bool:
    inside = contents(stmt)
    return name in (inside.loops if isinstance(name, Var) else inside.labels)


def is_named(stmt: Stmt, name: Var | Label) -> bool:
    """Return whether a statement is a loop over this variable, or has this label."""
    return stmt.var is name if isinstance(stmt, For) else getattr(stmt, "label", None) is name
