"""Loops over a number of rows that is known at the call: the variants of the products in each, and their schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TypeAlias

from ragged.analysis.contractions import Contraction, contractions, extent_of, with_shared_columns
from ragged.analysis.loop_bodies import loop_of
from ragged.auto.columns import outermost
from ragged.auto.cost import Product
from ragged.auto.cover import (
    CODE_BYTES,
    ENOUGH,
    SMALL_CODE_BYTES,
    Cover,
    Weights,
    best_times,
    covers,
    curve,
    fitting,
    representative_rows,
    stated_cover,
    usual_rows,
)
from ragged.auto.microkernel import MOST_VECTORS, Candidate, MicroKernel, Remainder, candidates
from ragged.auto.options import ScheduleOptions
from ragged.auto.planned_panels import PlannedPanels
from ragged.auto.shapes import Shape, SizeSum, extents
from ragged.auto.tile_batches import (
    MOST_ON_STACK,
    direct_updates,
    may_be_short,
    product_by_product,
)
from ragged.auto.variant_table import PlannedLoop, VariantTable
from ragged.auto.voting import voted_covers
from ragged.errors import ScheduleError
from ragged.ir.buffer_size import frame_bytes
from ragged.ir.expr import Const, Expr, Var
from ragged.ir.program import Program
from ragged.ir.stmt import For, LoopKind
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.dispatch import dispatch
from ragged.transform.loops.specialize import specialize
from ragged.transform.loops.split import Tail, split

Categorization: TypeAlias = Callable[
    [Machine, Sequence[Candidate], Sequence[Product], Weights, Mapping[int, float]], list[Cover]
]
"""Groups row counts into categories, each with a variant."""
_CATEGORIES: Mapping[str, Categorization] = {"ranges": covers, "votes": voted_covers}


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The plan of one loop over rows: its products, the cover that was chosen, and the trade-off curve.

    All loops of a program have panels of the same number of `vectors`. Bytes of covers are those of one product.
    """

    loop: Var
    extent: Expr
    products: tuple[Product, ...]
    vectors: int
    cover: Cover
    points: tuple[Cover, ...]

    @property
    def most_rows(self) -> int:
        """The most rows of a tile."""
        return max(each.candidate.kernel.rows for each in self.cover.variants)


def plan_rows(
    program: Program,
    machine: Machine,
    threads: int,
    options: ScheduleOptions,
    shapes: Sequence[Shape] = (),
    code_bytes: int | None = None,
) -> tuple[RowPlan, ...]:
    """Return a plan for each loop over rows of a program; none if other rules tile it.

    Every contraction of the program has to be of such rows with a parameter: no batches (their length changes
    within a call), and no products of two inputs. Options that state the tile leave nothing to plan, unless they state
    the remainder too; nor does a matrix unit. Without `code_bytes` the budget is small unless the shapes are stated,
    and a cover of more bytes is not taken for a gain below 1 %.
    """
    loops = list(_row_loops(program))
    summed = {each.update for each in contractions(program)}
    stated = options.tile is not None or options.rows_per_tile is not None
    if not loops or (stated and options.remainder is None) or options.on_unit(machine):
        return ()
    if summed != {each.update for _, inside in loops for each in inside}:
        return ()
    usual = CODE_BYTES if shapes else SMALL_CODE_BYTES
    budget = (usual if code_bytes is None else code_bytes) // sum(len(inside) for _, inside in loops)
    exactly = code_bytes is not None
    strategy = _CATEGORIES[options.categories]
    sides = [
        _LoopSpace(
            machine, threads, loop, tuple(inside), shapes, budget, exactly, strategy, options.remainder
        )
        for loop, inside in loops
    ]
    if options.tile is not None and options.remainder is not None:
        kernel = MicroKernel(*options.tile)
        cover = stated_cover(machine, Candidate(kernel, Remainder(options.remainder)))
        return tuple(side.plan(kernel.vectors, cover) for side in sides)
    widths = [width for width in range(1, MOST_VECTORS + 1) if all(width in side.points for side in sides)]
    if not widths:
        return ()
    chosen = min(widths, key=lambda width: _objective([side.choose(width) for side in sides]))
    return tuple(side.plan(chosen, side.choose(chosen)[1]) for side in sides)


def options_for(plans: Sequence[RowPlan], options: ScheduleOptions) -> ScheduleOptions:
    """Return options with tiles of the planned panels."""
    rows, vectors = max(each.most_rows for each in plans), plans[0].vectors
    return replace(options, tile=(rows, vectors), slice_vectors=vectors)


def table_of(
    plans: Sequence[RowPlan], panels: Sequence[PlannedPanels], machine: Machine, workers: int
) -> VariantTable:
    """Return the table of variants that a compiled kernel keeps."""
    return VariantTable(machine, workers, tuple(map(_planned, plans)), tuple(panels))


def _planned(plan: RowPlan) -> PlannedLoop:
    extent, products = SizeSum.of(plan.extent), plan.products
    return PlannedLoop(plan.loop.name, extent, products, plan.vectors, plan.cover, plan.points)


def tile_rows(schedule: LoopSchedule, plans: Sequence[RowPlan], options: ScheduleOptions) -> None:
    """Schedule each planned loop as its cover says: one copy a variant, in blocks of constant numbers of rows.

    Where a block's temporaries do not fit on the stack, or a primitive refuses, the loop stays as it is.
    """
    for plan in plans:
        for loop in _over_rows(schedule, plan):
            with schedule.attempt(f"row variants of {loop.name}"):
                _tile_variants(schedule, plan, loop, options)


class _LoopSpace:
    """The covers of one loop by the vectors of a panel, losses as multiples of the best candidate of any."""

    def __init__(
        self,
        machine: Machine,
        threads: int,
        loop: For,
        inside: tuple[Contraction, ...],
        shapes: Sequence[Shape],
        budget: int,
        exactly: bool,
        strategy: Categorization,
        remainder: str | None,
    ) -> None:
        self._loop, self._budget, self._exactly = loop, budget, exactly
        self._tolerance = 1e-9 if exactly else ENOUGH
        self._inside, self._threads, self._lanes = inside, threads, machine.lanes(4)
        rows = representative_rows(extents(shapes, loop.extent) or usual_rows())
        spaces = {
            width: [each for each in candidates(machine, width) if _is_allowed(each, remainder)]
            for width in self._widths()
        }
        products = {width: self.products(width) for width in spaces}
        best = best_times(machine, [(space, products[width]) for width, space in spaces.items()], rows)
        self.points = {
            width: strategy(machine, space, products[width], rows, best)
            for width, space in spaces.items()
            if space
        }
        self.curve = curve([each for points in self.points.values() for each in points])
        self._least = min(each.loss for each in fitting(self.curve, self._budget))

    def _widths(self) -> list[int]:
        """Return the numbers of vectors of panels that divide all columns; any number if there is none."""
        extents = [extent_of(each.vector) for each in self._inside if each.vector is not None]
        found = range(1, MOST_VECTORS + 1)
        dividing = [n for n in found if all(extent % (n * self._lanes) == 0 for extent in extents)]
        if not dividing and self._exactly:  # the last panel has code of its own
            self._budget //= 2
        return dividing or list(found)

    def products(self, vectors: int) -> tuple[Product, ...]:
        """Return the loop's products, in panels of so many vectors."""
        found = []
        for each in self._inside:
            columns = 1
            for output in each.outputs:
                columns *= extent_of(output)
            shared = columns >= self._threads * vectors * self._lanes
            found.append(Product(columns, extent_of(each.axis), self._threads, shared))
        return tuple(found)

    def choose(self, vectors: int) -> tuple[float, Cover]:
        """Return the smallest cover within the tolerated loss, and its loss beyond that, as a logarithm.

        A stated number of bytes may be used up: then the cover that loses least.
        """
        points = fitting(self.points[vectors], self._budget)
        good = [each for each in points if log(each.loss / self._least) <= self._tolerance]
        cover = good[0] if good else min(points, key=lambda each: each.loss)
        return max(0.0, log(cover.loss / self._least) - self._tolerance), cover

    def plan(self, vectors: int, cover: Cover) -> RowPlan:
        """Return the plan with panels of so many vectors, and these variants."""
        loop = self._loop
        return RowPlan(loop.var, loop.extent, self.products(vectors), vectors, cover, tuple(self.curve))


def _is_allowed(candidate: Candidate, remainder: str | None) -> bool:
    """Return whether a candidate has a stated remainder; one row leaves none."""
    return remainder is None or candidate.kernel.rows == 1 or candidate.remainder.value == remainder


def _objective(chosen: Sequence[tuple[float, Cover]]) -> tuple[float, int]:
    """Return the sum of the loops' losses beyond the tolerated ones, and their bytes of code."""
    return sum(excess for excess, _ in chosen), sum(cover.code_bytes for _, cover in chosen)


def _row_loops(program: Program) -> Iterator[tuple[For, list[Contraction]]]:
    """Yield the outermost parallel loops of unknown extent, and the products with parameters in each."""
    found = list(contractions(program))
    for loop in outermost(program):
        if isinstance(loop.extent, Const) or may_be_short(program, loop.var):
            continue
        updates = set(direct_updates(loop.body)) & with_shared_columns(found, loop.var)
        inside = [each for each in found if each.update in updates]
        if inside and all(map(_is_planned, inside)):
            yield loop, inside


def _is_planned(contraction: Contraction) -> bool:
    fixed = contraction.vector is not None and isinstance(contraction.axis.extent, Const)
    return contraction.packed is not None and fixed


def _over_rows(schedule: LoopSchedule, plan: RowPlan) -> list[Var]:
    """Return the loops over rows that a planned loop has become: those directly around its products."""
    products = list(contractions(schedule.program))
    loops = (loop_of(schedule.program, loop) for loop in schedule.forwarding.loops[plan.loop])
    return [
        loop.var
        for loop in loops
        if loop.kind is LoopKind.SERIAL
        and not isinstance(loop.extent, Const)
        and set(direct_updates(loop.body)) & with_shared_columns(products, loop.var)
    ]


def _tile_variants(schedule: LoopSchedule, plan: RowPlan, loop: Var, options: ScheduleOptions) -> None:
    variants = plan.cover.variants
    if plan.most_rows * frame_bytes(loop_of(schedule.program, loop).body) > options.max_stack_bytes:
        raise ScheduleError("the temporaries of a tile's rows do not fit on the stack")
    copies = [loop]
    if len(variants) > 1:
        below = tuple(each.below for each in variants if each.below is not None)
        most, *fewer = schedule.apply(dispatch, loop, below).loops[loop]
        copies = [*fewer, most]
    for copy, variant in zip(copies, variants, strict=True):
        for rows in _blocks(schedule, copy, variant.candidate):
            product_by_product(schedule, rows)
    if frame_bytes(schedule.program.kernel) > MOST_ON_STACK:
        raise ScheduleError("the temporaries of all tiles do not fit on the stack")


def _blocks(schedule: LoopSchedule, loop: Var, candidate: Candidate) -> list[Var]:
    """Cut a loop over rows into tiles as a candidate says; return the loops over the rows of each tile."""
    most = candidate.kernel.rows
    match candidate.remainder:
        case Remainder.OVERLAP:
            return [schedule.apply(split, loop, most, Tail.OVERLAP).loops[loop][1]]
        case Remainder.EXACT:
            _, rows, *rest = schedule.apply(split, loop, most, Tail.PEEL).loops[loop]
            return [rows, *(each for tail in rest for each in _each_length(schedule, tail, most - 1))]
        case Remainder.BALANCE:
            rows = schedule.apply(split, loop, most, Tail.BALANCE).loops[loop][1]
            return _each_length(schedule, rows, most)


def _each_length(schedule: LoopSchedule, rows: Var, most: int) -> list[Var]:
    """Specialize a loop for each number of iterations up to `most`; a constant one stays."""
    if most < 1 or isinstance(loop_of(schedule.program, rows).extent, Const):
        return [rows]
    return list(schedule.apply(specialize, rows, tuple(range(most, 0, -1))).loops[rows])
