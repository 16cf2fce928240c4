"""Goals where a statement of a program stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragged.ir.expr import Expr, Var
from ragged.ir.program import Program
from ragged.ir.sites import Site, path_to
from ragged.prove.answers import Proof, Unproven
from ragged.prove.prover import prover_of


def answer(
    program: Program,
    site: Site,
    goal: Expr,
    *,
    loops: Sequence[tuple[Var, Expr]] = (),
    conditions: Iterable[Expr] = (),
) -> Proof | Unproven:
    """Return the proof of `goal` where `site` stands, with its loops, lets and conditions, or why there is none.

    `loops`, each a variable and its extent, and `conditions` hold besides.
    """
    path = path_to(site)
    return prover_of(program).prove(
        path.expand(goal),
        loops=(*path.ranges, *loops),
        conditions=(*path.conditions, *map(path.expand, conditions)),
    )


def holds(program: Program, site: Site, goal: Expr, *, conditions: Iterable[Expr] = ()) -> bool:
    """Return whether `goal` is proven where `site` stands, with its loops, lets and conditions."""
    return isinstance(answer(program, site, goal, conditions=conditions), Proof)
