"""Fuse adjacent loop nests of a kernel at the loops in which dependent iterations have equal values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from ragged.analysis.buffers import is_size_expr
from ragged.analysis.dense_products import DenseProduct, dense_products
from ragged.analysis.loop_bodies import loop_of
from ragged.auto.fuse_row_blocks import fuse_row_blocks
from ragged.auto.interchange_reductions import is_side_by_side
from ragged.errors import ScheduleError
from ragged.ir.elementwise import Elementwise
from ragged.ir.expr import Const, Unary, Var
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import For, LoopKind, Reduce, Store
from ragged.ir.walk import children, flat, mentions, subexpressions
from ragged.polyhedral.context import PolyhedralLimitError
from ragged.polyhedral.nest_distances import AlignedNest, coincident
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.loops.fuse_siblings import fuse_siblings
from ragged.transform.loops.reorder import reorder
from ragged.transform.mapping.parallel import parallel


def are_shared(iterations: int, threads: int) -> bool:
    """Return whether workers share so many iterations, and none is idle for a tenth of them."""
    return 10 * (-iterations % threads) <= iterations


def fuse_nests(schedule: LoopSchedule, threads: int) -> None:
    """Fuse nests that follow each other at the outer loops that they have in common, so that rows pass in caches.

    before::

        for n in parallel(N):
            mean[n] = 0.0
            for k in serial(K):
                mean[n] += x[n, k]
        for i in parallel(N):
            for k in parallel(K):
                y[i, k] = x[i, k] - mean[i]

    after::

        for n in parallel(N):
            mean[n] = 0.0
            for k in serial(K):
                mean[n] += x[n, k]
            for k in parallel(K):
                y[n, k] = x[n, k] - mean[n]

    Loops are aligned by their names, or else their places, where their extents are equal (Tensor Comprehensions,
    section 5.1). isl proposes the outermost ones in which dependent iterations are equal (coincident); the
    most of them that leave products their register tiles and reductions their vectors are fused, by `reorder` and
    `fuse_siblings`, which prove it again. What is refused, or beyond isl's limit, stays as it is written. This is for
    dense nests of parallel loops; `fuse_row_blocks` then fuses those over blocks of rows. Comes before products are
    tiled, and while loops are parallel.
    """
    group: _Group | None = None
    for nest in _nests(schedule.program):
        if nest is None or group is None or not group.join(schedule, nest):
            group = None if nest is None else _Group(nest, threads)
    fuse_row_blocks(schedule)


_INDEPENDENT = (LoopKind.PARALLEL, LoopKind.SERIAL)


@dataclass(frozen=True, slots=True)
class _Nest:
    """A nest: its parallel loops directly inside each other, outermost first, and what is in them."""

    loops: tuple[For, ...]
    statements: tuple[Site, ...]
    product: DenseProduct | None

    def reduces(self, fused: Sequence[Var]) -> bool:
        """Return whether the loops `fused` are all of the nest's, and those in them have no vectors of their own."""
        inside = [(each, each.loops[len(fused) :]) for each in self.statements]
        return (
            len(self.loops) == len(fused)
            and any(loops for _, loops in inside)
            and not any(is_side_by_side(_leaf(each), loop.var) for each, loops in inside for loop in loops)
        )

    def cost(self, fused: Sequence[Var], reduced: bool, threads: int) -> str | None:
        """Return what the nest would lose if other statements stood in its loops `fused` as well; None if nothing.

        `reduced` says that there would be loops besides what is done in each iteration, without vectors.
        """
        if self.product is not None:
            batch = {loop.var: loop.extent for loop in self.product.batch}
            if not batch.keys() >= set(fused):
                return f"the product '{self.product.update.name}' would lose its register tiles"
            if self.product.is_packed and mentions(self.product.operand, fused):
                return f"the product '{self.product.update.name}' would not read panels right after they are packed"
            known = [int(extent.value) for var in fused if isinstance(extent := batch[var], Const)]
            if not known or not are_shared(prod(known), threads):
                return f"workers would not share the columns of the product '{self.product.update.name}'"
        for site in self.statements:
            stmt = _leaf(site)
            inside = len(self.loops) > len(fused)  # then these run along what is not contiguous
            lanes = isinstance(stmt, Reduce) or inside or (reduced and _calls_functions(stmt))
            if lanes and is_side_by_side(stmt, fused[-1]):
                return f"'{stmt.label.name}' would lose its vectors"
        return None


class _Group:
    """Nests that are fused; `loops` are the fused ones."""

    def __init__(self, first: _Nest, threads: int) -> None:
        self.first, self.threads = first, threads
        self.loops = first.loops
        self.members = [(first, tuple(loop.var for loop in first.loops))]

    def join(self, schedule: LoopSchedule, nest: _Nest) -> bool:
        """Fuse the next nest with the group, if it can be; a refusal is recorded."""
        what = f"fuse '{_leaf(self.first.statements[0]).label.name}' and '{_leaf(nest.statements[0]).label.name}'"
        before = schedule.checkpoint()
        try:
            own = self._loops_to_fuse(nest)
            order = (*own, *(loop.var for loop in nest.loops if loop.var not in own))
            if order != tuple(loop.var for loop in nest.loops):
                schedule.apply(reorder, order)
            for mine, other in zip(self.loops, own, strict=False):
                for var in (mine.var, other):
                    if loop_of(schedule.program, var).kind is LoopKind.SERIAL:
                        schedule.apply(parallel, var)
                schedule.apply(fuse_siblings, mine.var, other)
        except ScheduleError as refusal:
            schedule.restore(before)
            schedule.refuse(what, refusal)
            return False
        self.loops = self.loops[: len(own)]
        self.members.append((nest, own))
        return True

    def _loops_to_fuse(self, nest: _Nest) -> tuple[Var, ...]:
        """Return the loops of a nest to fuse with the first ones of the group, outermost first."""
        own = self._aligned(nest)
        reason: str | None = "no outer loops have equal extents"
        while own and (reason := self._cost(nest, own)) is not None:
            own = own[:-1]
        aligned = [AlignedNest(each.statements, loops[: len(own)]) for each, loops in self.members]
        try:
            equal = coincident(aligned, AlignedNest(nest.statements, own)) if own else ()
        except PolyhedralLimitError as limit:
            raise ScheduleError(
                "as written", because=f"isl does not say what depends on what: {limit}"
            ) from None
        depth = (*equal, False).index(False)
        if own and not depth:
            reason = f"iterations depend on others of '{self.loops[0].var.name}'"
        elif depth < len(own):
            reason = self._cost(nest, own[:depth])
        if reason is not None:
            raise ScheduleError("as written", because=reason)
        return own[:depth]

    def _aligned(self, nest: _Nest) -> tuple[Var, ...]:
        """Return the loops of a nest that are aligned with the first ones of the group."""
        found: list[Var] = []
        for place, mine in enumerate(self.loops):
            equal = [each for each in nest.loops if each.extent == mine.extent and each.var not in found]
            named = [each for each in equal if each.var.name == mine.var.name]
            placed = [each for each in equal if each in nest.loops[place : place + 1]]
            if not (named or placed):
                break
            found.append((named or placed)[0].var)
        return tuple(found)

    def _cost(self, nest: _Nest, own: tuple[Var, ...]) -> str | None:
        """Return what would be lost by fusing so many loops; None if nothing."""
        members = [(each, loops[: len(own)]) for each, loops in (*self.members, (nest, own))]
        reduced = any(each.reduces(loops) for each, loops in members)
        return next(filter(None, (each.cost(loops, reduced, self.threads) for each, loops in members)), None)


def _nests(program: Program) -> Iterator[_Nest | None]:
    """Yield the nests of a kernel in their order; None stands for what is no nest of dense loops."""
    inside: dict[Var, list[Site]] = {}
    for site in sites(program):
        if site.stage.kind is StageKind.KERNEL and site.loops and not children(site.stmt):
            inside.setdefault(site.loops[0].var, []).append(site)
    products = {each.update: each for each in dense_products(program)}
    for part in flat(program.kernel):
        found = tuple(inside[part.var]) if isinstance(part, For) and part.var in inside else ()
        if not isinstance(part, For) or not found or not all(map(_is_dense, found)):
            yield None
            continue
        loops, axes = (
            [part],
            {axis for each in found if isinstance(each.stmt, Reduce) for axis in each.stmt.axes},
        )
        while (
            isinstance(inner := loops[-1].body, For) and inner.kind in _INDEPENDENT and inner.var not in axes
        ):
            loops.append(inner)
        own = (products.get(_leaf(each).label) for each in found)
        yield _Nest(tuple(loops), found, next(filter(None, own), None))


def _leaf(site: Site) -> Store | Reduce:
    assert isinstance(site.stmt, Store | Reduce), "`_is_dense` says so"
    return site.stmt


def _calls_functions(stmt: Store | Reduce) -> bool:
    """Return whether a statement computes functions as exp, which take tens of instructions."""
    return any(
        isinstance(part, Unary) and isinstance(part.op, Elementwise) for part in subexpressions(stmt.value)
    )


def _is_dense(site: Site) -> bool:
    """Return whether a statement stores or reduces in loops over sizes, the first of them parallel."""
    loops = site.loops
    return (
        isinstance(site.stmt, Store | Reduce)
        and loops[0].kind is LoopKind.PARALLEL
        and all(is_size_expr(each.extent) for each in loops)
    )
