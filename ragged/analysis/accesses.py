"""The accesses to a buffer, in program order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from ragged.ir.expr import Buffer, Expr, Load
from ragged.ir.program import Program
from ragged.ir.sites import Branch, Site, evaluated, inner_sites, same, sites, sites_in
from ragged.ir.stmt import For, Reduce, Stmt, Store
from ragged.ir.walk import held, touches, written


class UseKind(Enum):
    """What is done to an element."""

    READ = "read"
    STORE = "stored"
    UPDATE = "updated"  # by a reduction, which reads it too


@dataclass(frozen=True, slots=True)
class BufferAccess:
    """An element that the statement at `site` touches.

    `order` counts statements in the order of the text. It is touched where all of `conditions` hold, apart from those
    around the statement.
    """

    site: Site
    order: int
    indices: tuple[Expr, ...]
    kind: UseKind
    conditions: tuple[Expr, ...] = ()

    @property
    def certain(self) -> bool:
        """True if the element is touched each time the statement runs."""
        return not self.conditions

    @property
    def writes(self) -> bool:
        """True if the element is changed."""
        return self.kind is not UseKind.READ


def accesses(program: Program, buffer: Buffer) -> list[BufferAccess]:
    """Return every use of `buffer` in a program."""
    return list(_uses(sites(program), buffer))


def uses_in(site: Site, buffer: Buffer) -> list[BufferAccess]:
    """Return every use of `buffer` in the statement at `site`."""
    return list(_uses(sites_in(site), buffer))


def sites_writing(program: Program, buffers: Collection[Buffer]) -> Iterator[Site]:
    """Yield every store and reduction that writes one of the buffers, in the order of the text."""
    pending = [Site(stage, stage.body) for stage in reversed(program.stages)]
    while pending:
        found = pending.pop()
        if written(found.stmt).isdisjoint(buffers):
            continue
        if isinstance(found.stmt, Store | Reduce):
            yield found
        pending.extend(reversed(inner_sites(found)))


def inside(site: Site) -> Site:
    """Return the site of what stands in the loop at `site`."""
    assert isinstance(site.stmt, For)
    return Site(site.stage, site.stmt.body, (*site.around, site.stmt))


def common_depth(a: Site, b: Site) -> int:
    """Return how many of the constructs around are around both."""
    depth = 0
    if a.stage.kind is not b.stage.kind:
        return 0
    for one, other in zip(a.around, b.around, strict=False):
        if not same(one, other):
            break
        depth += 1
    return depth


def top(site: Site, depth: int) -> Stmt:
    """Return the statement that holds `site` and has `depth` constructs around it."""
    if len(site.around) == depth:
        return site.stmt
    outer = site.around[depth]
    return outer.branch if isinstance(outer, Branch) else outer


def _uses(found: Iterator[Site], buffer: Buffer) -> Iterator[BufferAccess]:
    for order, site in enumerate(found):
        if not touches(site.stmt, buffer):
            continue
        for expr in held(site.stmt):
            for part, conditions in evaluated(expr):
                if isinstance(part, Load) and part.buffer is buffer:
                    yield BufferAccess(site, order, part.indices, UseKind.READ, conditions)
        match site.stmt:
            case Store(buffer=target, indices=indices) if target is buffer:
                yield BufferAccess(site, order, indices, UseKind.STORE)
            case Reduce(buffer=target, indices=indices) if target is buffer:
                yield BufferAccess(site, order, indices, UseKind.UPDATE)
