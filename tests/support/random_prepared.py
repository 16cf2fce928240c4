"""Arguments of primitives that need others first: what draws them applies those, and what it draws may be refused.

`Asked` and `Attempt` are what every drawing of arguments gives and gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from ragged.ir.expr import Buffer, Const, Load, Role, Select, Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Forwarding, Rewritten
from ragged.ir.stmt import Alloc, For, Leaf, Let, LoopKind, Reduce, Stmt, Store
from ragged.ir.walk import children, loads, statements, subexpressions, written
from ragged.transform.loops.declare_order import declare_order
from ragged.transform.loops.fission import fission
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import Tail, split
from ragged.transform.mapping.parallel import parallel
from ragged.transform.storage.concat_buffers import concat_buffers
from tests.support.random_places import GONE, Places, parts_of, read_in


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of a step."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


class Attempt(Protocol):
    """Applies a primitive that another one needs first; returns what became of loops, None if it is refused."""

    @property
    def program(self) -> Program: ...

    def __call__(self, primitive: Callable[..., Rewritten], *args: Any) -> Forwarding | None: ...


def lets(d: Places, attempt: Attempt) -> Asked:
    """Draw a loop that begins with a let: mostly after bringing a sum over children outside of it."""
    ragged = [
        (loop, before, part)
        for loop in d.loops
        if isinstance(loop.extent, Const)
        for before, part in pairwise(parts_of(loop))
        if isinstance(before, For | Leaf) and isinstance(part, For) and isinstance(part.body, Let)
    ]
    if not ragged or d.chance(3):
        return Asked((d.loop(lambda loop: isinstance(loop.extent, Const) and isinstance(loop.body, Let)),))
    loop, before, part = d.pick(ragged)
    cut = attempt(fission, loop.var, before.var if isinstance(before, For) else before.label)
    rest = loop.var if cut is None else cut.loops[loop.var][-1]
    attempt(reorder, (part.var, rest))
    return Asked((rest,))


def at_once(d: Places, attempt: Attempt) -> Asked:
    """Draw loops that follow each other, mostly after letting them run at once."""
    pair = d.pair(d.siblings())
    for var in pair if d.chance(8) else ():
        attempt(parallel, var)
    return Asked(pair)


def expanded(d: Places, attempt: Attempt) -> Asked:
    """Draw a local buffer and a loop around it, mostly after splitting that so that its extent is a number."""
    pairs = [(site.stmt.buffer, loop) for site, loop in d.around(lambda stmt: isinstance(stmt, Alloc))]
    if not pairs or d.chance(2):
        return Asked((d.buffer(Role.LOCAL), d.loop()))
    buffer, loop = d.pick(pairs)
    blocks = attempt(split, loop, 2, Tail.GUARD) if d.chance(7) else None
    return Asked((buffer, loop if blocks is None else blocks.loops[loop][1]))


def rolled(d: Places, attempt: Attempt) -> Asked:
    """Draw loops that follow each other, mostly alike ones, after stacking the buffers in which they differ."""
    alike = [pair for pair in d.siblings() if _form(d, pair[0]) == _form(d, pair[1])]
    first, second = d.pair(alike or d.siblings())
    for pair in dict.fromkeys(zip(_touched(d, first), _touched(d, second), strict=False)):
        if pair[0] is not pair[1]:
            attempt(concat_buffers, pair, attempt.program.free_name("stacked"))
    return Asked(((first, second), d.name("g")))


def _form(d: Places, var: Var) -> list[type[Stmt]]:
    loop = d.find(var)
    return [] if loop is None else [type(part) for part in statements(loop)]


def _touched(d: Places, var: Var) -> list[Buffer]:
    """Return the buffers that a loop stores to and reads, in the order of the text."""
    loop = d.find(var)
    return [] if loop is None else [*sorted(written(loop), key=lambda each: each.name), *read_in(loop)]


def sliced(d: Places, attempt: Attempt) -> Asked:
    """Draw a loop that runs at once, and mostly the outermost loops of constant extent inside it."""
    loop = d.find(d.loop(lambda loop: loop.kind is LoopKind.PARALLEL))
    if loop is None:
        return Asked((GONE, (d.loop(),), 2))
    columns = [columns_of(part) for part in parts_of(loop)]
    found = tuple(var for each in columns for var in each) if d.chance(8) else (d.loop(),)
    return Asked((loop.var, found, d.pick([1, 2, 3])))


def columns_of(stmt: Stmt) -> list[Var]:
    """Return the outermost loops of constant extent in a statement."""
    if isinstance(stmt, For) and isinstance(stmt.extent, Const):
        return [stmt.var]
    return [var for part in children(stmt) for var in columns_of(part)]


def remapped(d: Places, attempt: Attempt) -> Asked:
    """Draw a loop that runs at once and an order, mostly one that is declared for it."""
    loop = d.loop(lambda loop: loop.kind is LoopKind.PARALLEL)
    if d.chance(8):
        attempt(declare_order, d.program.free_name("order"), loop)
    functions = attempt.program.functions
    return Asked((loop, functions[-1] if d.chance(8) else d.pick(functions)))


def bordered(d: Places, attempt: Attempt) -> Asked:
    """Draw a statement that chooses between an element and a number, a loop around it, and sometimes a buffer."""
    places = [(site.stmt.label, loop) for site, loop in d.around(_chooses)]
    args = d.pick(places) if places and d.chance(9) else (d.label(), d.loop())
    return Asked((*args, d.pick(d.buffers)) if d.chance(3) else args)


def _chooses(stmt: Stmt) -> bool:
    """Return whether a statement takes an element under a condition."""
    return isinstance(stmt, Store | Reduce) and any(
        isinstance(part, Select) and isinstance(part.if_true, Load) for part in subexpressions(stmt.value)
    )


def prefetched(d: Places, attempt: Attempt) -> Asked:
    """Draw a statement, mostly one that reads a buffer, and loops around it: those ahead outside of the others."""
    found = [(site, site.stmt) for site in d.sites if isinstance(site.stmt, Store | Reduce) and site.loops]
    reading = [(site, stmt, part.buffer) for site, stmt in found for part in loads(stmt.value)]
    if not reading or not d.chance(9):
        return Asked((d.label(), d.buffer(Role.PAYLOAD), d.loop(), (d.loop(),), Const(1)))
    site, stmt, buffer = d.pick(reading)
    around = [loop.var for loop in site.loops]
    place = d.pick(range(len(around)))
    first = d.pick(range(place + 1))
    ahead = tuple(var for var in around[first : place + 1] if var is around[first] or d.chance(5))
    over = tuple(var for var in around[place + 1 :] if d.chance(5))
    return Asked((stmt.label, buffer, around[place], ahead, Const(d.pick([1, 0, 3, 20, -1])), over))
