"""What a choice in a vector's lanes may read in all of them: elements that are there, whatever decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from ragged.analysis.faults import is_lazy
from ragged.analysis.obligations import element
from ragged.ir.expr import Load, Var
from ragged.ir.program import Program, Stage
from ragged.ir.sites import Site, evaluated, sites
from ragged.ir.stmt import For, LoopKind, Reduce, Store
from ragged.ir.walk import held, loads, mentions, subexpressions
from ragged.prove import Proof, answer


def certain_loads(program: Program, stage: Stage) -> Mapping[int, AbstractSet[Load]]:
    """Return for vectorized loops of a stage, by their identity, what their choices may read for each lane.

    So `x[i] if m[i] else 0.0` is chosen in vectors: its lanes would otherwise branch, one after another.
    """
    found: dict[int, set[Load]] = {}
    refused: dict[int, set[Load]] = {}
    for site in sites(program):
        if site.stage is stage and isinstance(site.stmt, Store | Reduce) and (loop := _vector_of(site)):
            for load, is_certain in _chosen(program, site, loop.var):
                (found if is_certain else refused).setdefault(id(loop), set()).add(load)
    return {loop: certain - refused.get(loop, set()) for loop, certain in found.items()}


def _vector_of(site: Site) -> For | None:
    """Return the vectorized loop that a statement is in, if it runs in each of its iterations."""
    match site.around:
        case (*_, For(kind=LoopKind.VECTORIZED) as loop):
            return loop
        case _:
            return None


def _chosen(program: Program, site: Site, lane: Var) -> Iterator[tuple[Load, bool]]:
    """Yield what a statement reads under a condition of its own, and whether it is there whatever that says.

    A condition that is the same in all lanes decides by a branch, which leaves out the work of the other value.
    """
    for expr in held(site.stmt):
        if any(map(is_lazy, subexpressions(expr))):
            parts = [(part, where) for part, where in evaluated(expr) if isinstance(part, Load)]
            always = {(part.buffer.shape, part.indices) for part, where in parts if not where}
            apart = [part for part, where in parts if any(mentions(each, (lane,)) for each in where)]
            for load in dict.fromkeys(apart):
                yield load, (load.buffer.shape, load.indices) in always or _is_there(program, site, load)


def _is_there(program: Program, site: Site, load: Load) -> bool:
    found = (
        answer(program, site, each.inside)
        for each in element(load.buffer.name, load.indices, load.buffer.shape, None)
    )
    return not any(loads(*load.indices)) and all(isinstance(each, Proof) and not each.facts for each in found)
