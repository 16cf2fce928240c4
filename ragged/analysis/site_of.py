"""Where one loop or one labelled statement of a program stands: only the constructs around it are visited."""

from __future__ import annotations

from ragged.ir.expr import Var
from ragged.ir.index import contents
from ragged.ir.program import Program
from ragged.ir.sites import Site, inner_sites
from ragged.ir.stmt import For, Label, Stmt


def site_of(program: Program, name: Var | Label) -> Site | None:
    """Return the site of the loop over a variable, or of the statement with a label; None if there is none.

    It is the first in the order of the text if there are several. The cost is the depth of the program, not its length.
    """
    at = next((Site(stage, stage.body) for stage in program.stages if _holds(stage.body, name)), None)
    while at is not None and not is_named(at.stmt, name):
        at = next(inner for inner in inner_sites(at) if _holds(inner.stmt, name))
    return at


def _holds(stmt: Stmt, name: Var | Label) -> bool:
    inside = contents(stmt)
    return name in (inside.loops if isinstance(name, Var) else inside.labels)


def is_named(stmt: Stmt, name: Var | Label) -> bool:
    """Return whether a statement is a loop over this variable, or has this label."""
    return stmt.var is name if isinstance(stmt, For) else getattr(stmt, "label", None) is name
