"""Buffers that the iterations of a loop divide into blocks: found by arithmetic on indices, without a prover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    sites = tuple(inside)
    found: dict[Buffer, list[tuple[ElementAccess, Extents]]] = {}
    for site, touched in zip(sites, regions_of(sites), strict=True):
        bounds = {loop.var: at_most(loop.extent, {}) for loop in site.loops}
        extents = {each: bound for each, bound in bounds.items() if bound is not None}
        for access in (*touched.reads, *touched.writes):
            found.setdefault(access.buffer, []).append((access, extents))
    owners = [storage(buffer) for buffer in found]
    return frozenset(
        buffer
        for buffer, accesses in found.items()
        if owners.count(storage(buffer)) == 1 and _blocked(accesses, var)
    )


def _blocked(accesses: Sequence[tuple[ElementAccess, Extents]], var: Var) -> bool:
    first, _ = accesses[0]
    return any(
        (extent := growth(index, var) or 0) > 0
        and all(_in_block(access.indices[place], var, extent, extents) for access, extents in accesses)
        for place, index in enumerate(first.indices)
    )


def _in_block(index: Expr, var: Var, extent: int, extents: Extents) -> bool:
    return divided(index, extent, extents)[0] == Ref(var)
