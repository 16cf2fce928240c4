"""Buffers that the iterations of a loop divide into blocks: found by arithmetic on indices, without a prover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragged.analysis.dependence import storage
from ragged.arith.affine import growth
from ragged.arith.index_intervals import Extents, at_most, divided
from ragged.ir.expr import Buffer, Expr, Ref, Var
from ragged.ir.sites import ElementAccess, Site, regions_of


def divided_into_blocks(inside: Iterable[Site], var: Var) -> frozenset[Buffer]:
    """Return the buffers of which each iteration of the loop over `var` touches a block of elements of its own.

    `inside` are the statements in the loop. A block is one of equal intervals of one dimension: all indices there are
    `var * extent + rest` with the same extent and `0 <= rest < extent`, as in `y[i, (panel * 4 + v) * 16 + lane]`.
    """
    return frozenset(
        buffer for buffer, accesses in accesses_of_own_memory(inside).items() if _blocked(accesses, var)
    )


def accesses_of_own_memory(inside: Iterable[Site]) -> dict[Buffer, dict[ElementAccess, Site]]:
    """Return what statements touch of each buffer, with a statement of each access.

    Buffers that share their memory with others that are touched are left out.
    """
    sites = tuple(inside)
    found: dict[Buffer, dict[ElementAccess, Site]] = {}
    for site, touched in zip(sites, regions_of(sites), strict=True):
        for access in (*touched.reads, *touched.writes):
            found.setdefault(access.buffer, {})[access] = site
    owners = [storage(buffer) for buffer in found]
    return {buffer: own for buffer, own in found.items() if owners.count(storage(buffer)) == 1}


def _blocked(accesses: Mapping[ElementAccess, Site], var: Var) -> bool:
    first, extents = next(iter(accesses)), {each: _extents(site) for each, site in accesses.items()}
    return any(
        (extent := growth(index, var) or 0) > 0
        and all(_in_block(each.indices[place], var, extent, extents[each]) for each in accesses)
        for place, index in enumerate(first.indices)
    )


def _extents(site: Site) -> Extents:
    bounds = {loop.var: at_most(loop.extent, {}) for loop in site.loops}
    return {each: bound for each, bound in bounds.items() if bound is not None}


def _in_block(index: Expr, var: Var, extent: int, extents: Extents) -> bool:
    return divided(index, extent, extents)[0] == Ref(var)
