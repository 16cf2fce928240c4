"""What a loop reads of a buffer, as one region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragged.analysis.access_range import Span, spans
from ragged.analysis.accesses import BufferAccess
from ragged.analysis.regions import BufferRegion, Home
from ragged.arith.affine import AffineForm, affine
from ragged.arith.bindings import Bindings
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Const, Expr, Load
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.sites import Site


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read of a buffer in a loop, by `found`; `name` is the primitive and its object, for refusals."""

    name: str
    program: Program
    buffer: Buffer
    known: Bindings
    found: Sequence[BufferAccess]
    home: Home

    def spans(self) -> list[tuple[Span, ...]]:
        """Return which elements each use reads."""
        result = []
        for use in self.found:
            reached = spans(use, self.home.depth, self.known)
            if reached is None or any(
                not isinstance(p.extent, Const) for each in reached for p in each.parts
            ):
                raise ScheduleError(
                    self.name,
                    because=f"{expr_text(Load(self.buffer, use.indices))} does not read one region: "
                    "its indices are not the loop's own and multiples of loops inside of constant extents",
                    fix="split the loops inside, or name one of them",
                )
            result.append(reached)
        return result

    def apart(self, reached: Sequence[tuple[Span, ...]]) -> list[tuple[Reading, list[tuple[Span, ...]]]]:
        """Return the reads and what they reach in groups: those of one are a known distance from each other."""
        groups: list[list[int]] = []
        for place, each in enumerate(reached):
            for group in groups:
                if not _shifted(reached[group[0]], each):
                    group.append(place)
                    break
            else:
                groups.append([place])
        return [
            (replace(self, found=[self.found[k] for k in group]), [reached[k] for k in group])
            for group in groups
        ]

    def region(self, reached: Sequence[tuple[Span, ...]]) -> BufferRegion:
        """Return the smallest region that holds all that is read."""
        bases, extents = [], []
        for dimension in range(len(self.buffer.shape)):
            column = [each[dimension] for each in reached]
            shifts = [each.base.plus(column[0].base, -1) for each in column]
            assert not any(shift.terms for shift in shifts), "`apart` has grouped the reads"
            low = min(shift.constant for shift in shifts)
            ends = [shift.constant + _reach(each) for shift, each in zip(shifts, column, strict=True)]
            bases.append(column[0].base.plus(AffineForm(constant=low)))
            extents.append(max(ends) - low)
        kept = tuple(d for d, extent in enumerate(extents) if extent != 1 or any(r[d].parts for r in reached))
        return BufferRegion(tuple(bases), tuple(extents), kept)

    def begins(self, region: BufferRegion) -> list[Expr]:
        """Return where `region` begins in each dimension, in what is in scope at the home."""
        site = self.found[0].site
        lets = Site(site.stage, site.stmt, site.around[self.home.depth :])
        result = []
        for index, base in zip(self.found[0].indices, region.bases, strict=True):
            written = affine(lets.expand(index))
            moved = self.known.affine(written.expr).plus(base, -1)  # the loops inside, and a distance
            result.append(written.plus(moved, -1).expr)
        return result


def _reach(each: Span) -> int:
    """Return how far the values of a span reach, gaps and all."""
    strides = ((int(p.extent.value), p.stride) for p in each.parts if isinstance(p.extent, Const))
    return 1 + sum(stride * (extent - 1) for extent, stride in strides)


def _shifted(one: tuple[Span, ...], other: tuple[Span, ...]) -> bool:
    """Return whether the distance of two reads is not a number, in some dimension."""
    return any(b.base.plus(a.base, -1).terms for a, b in zip(one, other, strict=True))
