"""Which elements the uses of a buffer touch while the loops inside some place run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragged.analysis.accesses import BufferAccess, UseKind, common_depth
from ragged.arith.affine import AffineForm
from ragged.arith.bindings import Bindings, is_fixed
from ragged.arith.fold import ZERO, times
from ragged.arith.index_intervals import below, bounds_of, divided
from ragged.ir.build import within
from ragged.ir.expr import Const, Expr, Ref, Var
from ragged.ir.program import Program
from ragged.ir.sites import Branch
from ragged.ir.stmt import For, Let
from ragged.ir.walk import mentions
from ragged.prove import holds


@dataclass(frozen=True, slots=True)
class Part:
    """A loop's share in an index: its variable times `stride`, over `extent` iterations."""

    var: Var
    stride: int
    extent: Expr


@dataclass(frozen=True, slots=True)
class Span:
    """The values of an index while some loops run: `base` plus every choice of the parts, largest stride first.

    `base` is over variables from outside, lets seen through.
    """

    base: AffineForm
    parts: tuple[Part, ...]

    @property
    def extent(self) -> Expr | None:
        """How many values, one after another from `base` and each once, the index takes; None if it has gaps."""
        reach: Expr = Const(1)
        for part in reversed(self.parts):
            if part.extent == Const(1):
                continue
            if reach != Const(part.stride):
                return None
            reach = times(part.extent, reach)
        return reach

    @property
    def numbers(self) -> int | None:
        """The extent, where it is a number."""
        return int(self.extent.value) if isinstance(self.extent, Const) else None


def span(index: Expr, loops: Iterable[Var], hidden: Iterable[Var], known: Bindings) -> Span | None:
    """Return the values of `index` while `loops`, outermost first, run, or None if that is not known.

    It is not if the index is no sum of their multiples, or its base is made of `hidden` variables (`loops` among
    them) or of what a statement may change.
    """
    form, order = known.affine(index), list(loops)
    terms = {term: term.var for term in form.terms if isinstance(term, Ref) and term.var in order}
    base = form.plus(form.only(terms), -1)
    out_of_reach = set(hidden)
    for term in base.terms:
        if not is_fixed(term) or mentions(term, out_of_reach):
            return None
    parts = [Part(var, form.terms[term], known.extents[var]) for term, var in terms.items()]
    if any(part.stride < 1 for part in parts):
        return None
    return Span(base, tuple(sorted(parts, key=lambda part: (-part.stride, order.index(part.var)))))


def spans(use: BufferAccess, depth: int, known: Bindings) -> tuple[Span, ...] | None:
    """Return the span of each index of `use` while what is inside the outermost `depth` constructs runs.

    None if one is not known, or two indices share a loop: then not every choice of values occurs.
    """
    inner = use.site.around[depth:]
    loops = [outer.var for outer in inner if isinstance(outer, For)]
    hidden = [outer.var for outer in inner if isinstance(outer, For | Let)]
    found = [span(index, loops, hidden, known) for index in use.indices]
    result = tuple(each for each in found if each is not None)
    variables = [part.var for each in result for part in each.parts]
    return None if len(result) < len(found) or len(set(variables)) < len(variables) else result


def iteration_of(each: Span, index: Expr, known: Bindings) -> dict[Var, Expr]:
    """Return in which iteration of its loops a store of that span writes the element at `index`."""
    parts = [part for part in each.parts if part.extent != Const(1)]
    found: dict[Var, Expr] = {part.var: Const(0) for part in each.parts}
    if len(parts) == 1 and each.base == AffineForm():
        return {**found, parts[0].var: index}
    rest = known.affine(index).plus(each.base, -1).expr
    for part in parts:
        found[part.var], rest = divided(rest, part.stride, known.below)
    return found


def is_certain(use: BufferAccess, depth: int, reached: Iterable[Span], known: Bindings) -> bool:
    """Return whether `use` touches all of `reached`, its spans, each time that what is inside `depth` runs."""
    inner = use.site.around[depth:]
    variables = {part.var for each in reached for part in each.parts}
    idle = [outer.var for outer in inner if isinstance(outer, For) and outer.var not in variables]
    return (
        use.certain
        and not any(isinstance(outer, Branch) for outer in inner)
        and all(isinstance(extent := known.extents[var], Const) and extent.value >= 1 for var in idle)
    )


def is_covered(program: Program, known: Bindings, store: BufferAccess, read: BufferAccess) -> bool:
    """Return whether `read` finds what `store` stored in the same iteration of all loops around both."""
    depth = common_depth(store.site, read.site)
    if store.site.stage.kind is not read.site.stage.kind:
        return False
    if store.kind is not UseKind.STORE or store.order >= read.order:
        return False
    reached = spans(store, depth, known)
    if reached is None or not is_certain(store, depth, reached, known):
        return False
    pairs = zip(reached, read.indices, strict=True)
    return all(_holds(program, known, each, index, read) for each, index in pairs)


def _holds(program: Program, known: Bindings, each: Span, index: Expr, use: BufferAccess) -> bool:
    """Return whether `index`, one of those of `use`, is one of the values of a span."""
    extent = each.extent
    if extent is None:
        return False
    place = known.affine(index).plus(each.base, -1)
    bounds = bounds_of(place, below(known.below))
    if isinstance(extent, Const) and bounds is not None and bounds[0] >= 0 and bounds[1] < extent.value:
        return True
    return holds(program, use.site, within(place.expr, ZERO, extent), conditions=use.conditions)
