"""Who reads and writes a buffer, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ragged.ir.analysis import Branch, Enclosing, Site, held, sites, sites_in
from ragged.ir.expr import Binary, Buffer, Expr, Load, Select
from ragged.ir.program import Program
from ragged.ir.stmt import For, Reduce, Stmt, Store
from ragged.ir.walk import operands


class UseKind(Enum):
    """What is done to an element."""

    READ = "read"
    STORE = "stored"
    UPDATE = "updated"  # by a reduction, which reads it too


@dataclass(frozen=True, slots=True)
class Use:
    """An element that the statement at `site` touches.

    `order` counts statements in the order of the text. `certain`: it is touched each time the statement runs.
    """

    site: Site
    order: int
    indices: tuple[Expr, ...]
    kind: UseKind
    certain: bool = True

    @property
    def writes(self) -> bool:
        """True if the element is changed."""
        return self.kind is not UseKind.READ


def uses(program: Program, buffer: Buffer) -> list[Use]:
    """Return every use of `buffer` in a program."""
    return list(_uses(sites(program), buffer))


def uses_in(site: Site, buffer: Buffer) -> list[Use]:
    """Return every use of `buffer` in the statement at `site`."""
    return list(_uses(sites_in(site), buffer))


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


def same(a: Enclosing, b: Enclosing) -> bool:
    """Return whether two constructs around statements are one."""
    if isinstance(a, Branch) and isinstance(b, Branch):
        return a.branch is b.branch and a.taken is b.taken
    return a is b


def top(site: Site, depth: int) -> Stmt:
    """Return the statement that holds `site` and has `depth` constructs around it."""
    if len(site.around) == depth:
        return site.stmt
    outer = site.around[depth]
    return outer.branch if isinstance(outer, Branch) else outer


def _uses(found: Iterator[Site], buffer: Buffer) -> Iterator[Use]:
    for order, site in enumerate(found):
        for expr in held(site.stmt):
            for load, certain in _loads(expr, True):
                if load.buffer is buffer:
                    yield Use(site, order, load.indices, UseKind.READ, certain)
        match site.stmt:
            case Store(buffer=target, indices=indices) if target is buffer:
                yield Use(site, order, indices, UseKind.STORE)
            case Reduce(buffer=target, indices=indices) if target is buffer:
                yield Use(site, order, indices, UseKind.UPDATE)


def _loads(expr: Expr, certain: bool) -> Iterator[tuple[Load, bool]]:
    """Yield the loads of `expr`, and whether each is made whenever `expr` is evaluated."""
    if isinstance(expr, Load):
        yield expr, certain
    for position, operand in enumerate(operands(expr)):
        lazy = position > 0 and (
            isinstance(expr, Select) or (isinstance(expr, Binary) and expr.op.is_logical)
        )
        yield from _loads(operand, certain and not lazy)
