"""The part of a buffer that is used in a loop, and a smaller buffer in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.access_range import Span
from ragged.analysis.accesses import BufferAccess
from ragged.arith.affine import AffineForm
from ragged.arith.bindings import Bindings
from ragged.arith.index_intervals import below, bounds_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Expr, Role
from ragged.ir.index import contents
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.rewrite import Rewriter
from ragged.ir.sites import Enclosing, Site, same
from ragged.ir.stmt import CONCURRENT, Alloc, Barrier, Block, For, Let, LoopKind, Reduce, Stmt, Store, block
from ragged.ir.walk import statements


@dataclass(frozen=True, slots=True)
class Home:
    """Where a loop's body holds its statements: in the loop, and in what lets and allocations they all stand.

    `around` are the constructs around them, `stmt` the innermost one.
    """

    around: tuple[Enclosing, ...]
    stmt: For | Let | Alloc

    @property
    def depth(self) -> int:
        """How many constructs are around them."""
        return len(self.around)


def home_of(loop: Site, found: Sequence[BufferAccess]) -> Home:
    """Return the innermost place in the loop, under lets and allocations alone, that holds all of `found`."""
    assert isinstance(loop.stmt, For)
    home = Home((*loop.around, loop.stmt), loop.stmt)
    while all(len(use.site.around) > home.depth for use in found):
        first = found[0].site.around[home.depth]
        if not isinstance(first, Let | Alloc) or not all(
            same(u.site.around[home.depth], first) for u in found
        ):
            break
        home = Home((*home.around, first), first)
    return home


@dataclass(frozen=True, slots=True)
class BufferRegion:
    """`extents[d]` values from `bases[d]` in each dimension; a dimension of one value is not `kept`."""

    bases: tuple[AffineForm, ...]
    extents: tuple[int, ...]
    kept: tuple[int, ...]

    def place(self, indices: tuple[Expr, ...], known: Bindings) -> tuple[AffineForm, ...]:
        """Return where an element of the whole buffer stands in the region; lets are seen through."""
        pairs = zip(indices, self.bases, strict=True)
        return tuple(known.affine(index).plus(base, -1) for index, base in pairs)

    def holds(self, indices: tuple[Expr, ...], known: Bindings) -> bool:
        """Return whether an element is always in the region, whatever the loops in it do."""
        for place, extent in zip(self.place(indices, known), self.extents, strict=True):
            bounds = bounds_of(place, below(known.below))
            if bounds is None or bounds[0] < 0 or bounds[1] >= extent:
                return False
        return True

    def buffer(self, whole: Buffer, name: str, scope: MemoryScope) -> Buffer:
        """Return a local buffer for the region."""
        shape = tuple(Const(self.extents[d]) for d in self.kept)
        dims = tuple(whole.dims[d] for d in self.kept)
        return Buffer(name, whole.dtype, shape, Role.LOCAL, dims, scope, whole.order_of(self.kept))

    def matches(self, reached: tuple[Span, ...]) -> bool:
        """Return whether the spans of a use are the region, no more and no less."""
        same_extents = all(s.numbers == e for s, e in zip(reached, self.extents, strict=True))
        return same_extents and all(s.base == b for s, b in zip(reached, self.bases, strict=True))


def region_of(reached: tuple[Span, ...]) -> BufferRegion | None:
    """Return the region of which spans are all elements, or None if they leave gaps or are no numbers."""
    extents = tuple(number for each in reached if (number := each.numbers) is not None)
    if len(extents) < len(reached):
        return None
    kept = tuple(d for d, each in enumerate(reached) if each.parts)
    return BufferRegion(tuple(each.base for each in reached), extents, kept)


@dataclass
class Redirect(Rewriter):
    """Puts `local`, which holds `region`, in place of `whole` in what `arrange` makes of the home's body."""

    whole: Buffer = field(kw_only=True)
    local: Buffer = field(kw_only=True)
    region: BufferRegion = field(kw_only=True)
    known: Bindings = field(kw_only=True)
    home: Home = field(kw_only=True)
    _inside: bool = field(default=False, init=False)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Return where the local buffer has an element of the whole, in the home."""
        if buffer is self.whole and self._inside:
            return self.local, self.place(indices)
        return super().access(buffer, indices)

    def place(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the local buffer's indices for the whole one's."""
        places = self.region.place(indices, self.known)
        return tuple(places[d].expr for d in self.region.kept)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement."""
        if stmt is self.home.stmt:
            assert isinstance(stmt, For | Let | Alloc)
            self._inside = True
            body = self.arrange(list(stmt.body.body) if isinstance(stmt.body, Block) else [stmt.body])
            self._inside = False
            return replace(stmt, body=body)
        if not self._inside and contents(self.home.stmt).labels[0] not in contents(stmt).labels:
            return stmt  # outside of the home nothing changes
        return super().stmt(stmt)

    def arrange(self, parts: list[Stmt]) -> Stmt:
        """Return the home's new body, made of its statements as they were."""
        return block(*(self.stmt(part) for part in parts))


def check_lanes(what: str, loop: Site) -> None:
    """Refuse a loop that is vectorized, or inside one that is."""
    assert isinstance(loop.stmt, For)
    for outer in (*loop.loops, loop.stmt):
        if outer.kind is LoopKind.VECTORIZED:
            raise ScheduleError(
                what,
                because=f"the loop '{outer.var.name}' is vectorized: its iterations are lanes and hold no buffers",
                fix="name a loop around it, or vectorize afterwards",
            )


def check_barriers(what: str, loop: Site) -> None:
    """Refuse a loop in which workers meet."""
    if any(isinstance(stmt, Barrier) for stmt in statements(loop.stmt)):
        raise ScheduleError(
            what,
            because="workers meet at a barrier in it, where each must see what the others wrote",
            fix="name a loop between two barriers",
        )


def check_one_at_a_time(what: str, loop: Site, found: Sequence[BufferAccess]) -> None:
    """Refuse a loop that holds concurrent loops around `found`."""
    for use in found:
        for inner in use.site.loops[len(loop.loops) + 1 :]:
            if inner.kind in CONCURRENT:
                raise ScheduleError(
                    what,
                    because=f"iterations of the {inner.kind.value} loop '{inner.var.name}' run at once, "
                    "and would share what is held",
                    fix=f"name the loop '{inner.var.name}' or one in it",
                )


def check_outlives(what: str, home: Home, found: Sequence[BufferAccess]) -> None:
    """Refuse a buffer that is allocated anew inside the home."""
    for use in found:
        target = use.site.stmt.buffer if isinstance(use.site.stmt, Store | Reduce) and use.writes else None
        if any(isinstance(o, Alloc) and o.buffer is target for o in use.site.around[home.depth :]):
            raise ScheduleError(
                what,
                because="it is allocated inside that loop, and each time anew",
                fix="name a loop inside the allocation",
            )
