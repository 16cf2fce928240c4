"""Children read by their position exist at every node that reads them."""

from __future__ import annotations

from cortex.ra.cases import CaseAnalysis, child_reads, needed_children
from cortex.ra.collect import Recursion
from cortex.ra.shapes import counted
from cortex.ra.structure import Dag, Sequence, Structure, Tree
from ragged.errors import ModelError


def check_positions_in_arity(recursion: Recursion) -> None:
    """No child is read at a position beyond the structure's arity."""
    most, kind = _max_children(recursion.structure), type(recursion.structure).__name__
    for body in recursion.at_nodes:
        for site, child in child_reads(body):
            if most is not None and child.position >= most:
                raise ModelError(
                    f"'{recursion.text(site.expr)}': there is no '{child.text()}'",
                    at=site.expr.at,
                    because=f"a node of {recursion.structure} has {counted(most, 'child', 'children')} at most",
                    fix=None
                    if isinstance(recursion.structure, Sequence)
                    else f"{kind}(max_children={child.position + 1}), or read a lower position",
                )


def check_no_child_at_leaf(recursion: Recursion) -> None:
    """A child is read by its position only where the node is known to have children."""
    analysis = CaseAnalysis(recursion)
    for body in recursion.at_nodes:
        for site, child in needed_children(body):
            if 0 in analysis.at(site):
                raise ModelError(
                    f"'{recursion.text(site.expr)}' is read at leaves too, which have no '{child.text()}'",
                    at=site.expr.at,
                    because=f"'{recursion.name(body)}' is computed at leaves",
                    fix="read it in the inner branch of ra.if_then_else on ra.isleaf(n), or declare "
                    "ra.placeholder(shape, default=0.0)",
                )


def _max_children(structure: Structure) -> int | None:
    match structure:
        case Tree(max_children=most) | Dag(max_children=most):
            return most
        case Sequence():
            return 1
