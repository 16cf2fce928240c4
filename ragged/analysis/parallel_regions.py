"""Parallel regions of a kernel: its outermost PARALLEL loops."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.ir.expr import Buffer, Const
from ragged.ir.sites import Branch, Site, sites_in
from ragged.ir.stmt import (
    Alloc,
    Barrier,
    Block,
    Check,
    For,
    If,
    Label,
    Let,
    LoopKind,
    Prefetch,
    Reduce,
    Store,
)
from ragged.ir.walk import children, expressions, loads, mentions


@dataclass(frozen=True, slots=True, eq=False)
class ParallelRegion:
    """An outermost PARALLEL loop: its site, and the sites of the labelled statements in it.

    Compared by identity: its statements may be most of a program.
    """

    site: Site
    inside: tuple[Site, ...]

    @property
    def loop(self) -> For:
        """The loop."""
        assert isinstance(self.site.stmt, For)
        return self.site.stmt

    @property
    def depth(self) -> int:
        """The number of loops around it."""
        return len(self.site.loops)

    @property
    def rows(self) -> For | None:
        """The parallel loop directly in a loop of constant extent, if its own extent is no constant.

        The extent must be known before the outer loop: a team may distribute either of the two.
        """
        loop, inner = self.loop, self.loop.body
        if (
            not isinstance(inner, For)
            or inner.kind is not LoopKind.PARALLEL
            or not isinstance(loop.extent, Const)
        ):
            return None
        known = not _loaded(inner) and not mentions(inner.extent, (loop.var,))
        return inner if known and not isinstance(inner.extent, Const) else None

    def is_adjacent(self, other: ParallelRegion) -> bool:
        """Return whether two regions stand in the same loops, under the same conditions."""
        return self.site.loops == other.site.loops and self.site.conditions == other.site.conditions

    @property
    def labels(self) -> set[Label]:
        """The labels of the statements in it."""
        return {
            site.stmt.label
            for site in self.inside
            if isinstance(site.stmt, Store | Reduce | Check | Barrier | Prefetch)
        }

    @property
    def reads_around(self) -> tuple[Buffer, ...]:
        """The buffers that its extent and the statements around it read or allocate."""
        found: list[Buffer] = []
        for outer in (*self.site.around, self.loop):
            match outer:
                case Alloc(buffer=buffer):
                    found.append(buffer)
                case Branch(branch=branch):
                    found += _loaded(branch)
                case For() | Let():
                    found += _loaded(outer)
        return tuple(found)


def _loaded(stmt: For | Let | If) -> list[Buffer]:
    return [part.buffer for part in loads(*expressions(stmt))]


def outermost_parallel(around: Site) -> list[ParallelRegion]:
    """Return the parallel regions of the statement at a site, in program order."""
    return [
        region_at(site)
        for site in sites_in(around)
        if _is_parallel(site) and not any(loop.kind is LoopKind.PARALLEL for loop in site.loops)
    ]


def region_at(site: Site) -> ParallelRegion:
    """Return the region of the loop at a site."""
    inner = (each for each in sites_in(site) if not children(each.stmt))
    return ParallelRegion(site, tuple(each for each in inner if not isinstance(each.stmt, Block)))


def _is_parallel(site: Site) -> bool:
    return isinstance(site.stmt, For) and site.stmt.kind is LoopKind.PARALLEL
