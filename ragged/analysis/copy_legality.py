"""Regions of a buffer that are copied before they are read: whether they are alike, and stay as they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged.analysis.access_range import Span
from ragged.analysis.accesses import BufferAccess, top
from ragged.analysis.regions import BufferRegion
from ragged.analysis.staged_reads import Reading
from ragged.arith.fold import plus
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Load
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.sites import same
from ragged.ir.stmt import Block, Stmt
from ragged.ir.walk import statements
from ragged.prove import Unproven, answer


@dataclass(frozen=True, slots=True)
class Copied:
    """A region that is copied for the reads of `reading`, each of which reaches one of `reached`."""

    reading: Reading
    region: BufferRegion
    reached: Sequence[tuple[Span, ...]]

    def begins(self) -> list[Expr]:
        """Return where the region begins in each dimension, in what is in scope at the home."""
        return self.reading.begins(self.region)

    def text(self) -> str:
        """Return a read of it, as the program has it."""
        return expr_text(Load(self.reading.buffer, self.reading.found[0].indices))


def check_alike(copied: Sequence[Copied]) -> None:
    """Refuse regions that do not fit in one buffer, side by side."""
    first = copied[0]
    for other in copied[1:]:
        if (first.region.extents, first.region.kept) != (other.region.extents, other.region.kept):
            sizes = (" x ".join(map(str, each.region.extents)) for each in (first, other))
            raise ScheduleError(
                first.reading.name,
                because=f"{first.text()} and {other.text()} are not a known distance from each other, and "
                f"of regions of different sizes, {' and '.join(sizes)}: one copy does not hold both",
                fix="fission the loop, so that each of its parts reads one region",
            )


def check_unwritten(whole: Reading, writes: Sequence[BufferAccess], copied: Sequence[Copied]) -> None:
    """Refuse unless what is written between the copy and the last read of it is not in any of the regions.

    Outside of the home, or before the first and after the last of its statements that read, a write does no harm: the
    home runs once in each iteration.
    """
    places = [place for use in whole.found if (place := _place(whole, use)) is not None]
    for write in writes:
        place = _place(whole, write)
        if place is None or not min(places) <= place <= max(places):
            continue
        for each in copied:
            found = _apart(whole, write, each.region)
            if found is not None:
                written = expr_text(Load(whole.buffer, write.indices))
                raise ScheduleError(
                    whole.name,
                    because=f"{written} is {write.kind.value} in it, and may be what {each.text()} reads: the copy "
                    "would be out of date",
                    example=found.example,
                    fix="name a loop that only reads it, or cache_write what it accumulates",
                )


def _place(whole: Reading, use: BufferAccess) -> int | None:
    """Return which of the home's statements holds a use, or None if none does."""
    depth, home = whole.home.depth, whole.home
    around = use.site.around
    if len(around) < depth or not all(map(same, around[:depth], home.around)):
        return None
    parts: tuple[Stmt, ...] = home.stmt.body.body if isinstance(home.stmt.body, Block) else (home.stmt.body,)
    held = top(use.site, depth)
    return next((k for k, part in enumerate(parts) if any(each is held for each in statements(part))), None)


def _apart(whole: Reading, write: BufferAccess, region: BufferRegion) -> Unproven | None:
    """Return None if a write is proven to be of no element of a region."""
    goal: Expr | None = None
    for index, base, extent in zip(write.indices, region.bases, region.extents, strict=True):
        there, begin = whole.known.affine(index).expr, base.expr
        below = Binary(BinaryOp.LT, there, begin)
        beyond = Binary(BinaryOp.LE, plus(begin, Const(extent)), there)
        outside = Binary(BinaryOp.OR, below, beyond)
        goal = outside if goal is None else Binary(BinaryOp.OR, goal, outside)
    if goal is None:
        return Unproven("a scalar")
    found = answer(whole.program, write.site, goal)
    return found if isinstance(found, Unproven) else None
