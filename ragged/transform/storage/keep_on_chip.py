"""keep_on_chip: copy each block's slice of a parameter to shared memory once per kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragged.analysis.accesses import BufferAccess, uses_in
from ragged.analysis.buffers import READ_ONLY, check_alone, check_known
from ragged.arith.affine import AffineForm, affine
from ragged.arith.bindings import bindings
from ragged.arith.fold import floordiv, modulo, plus, times
from ragged.arith.index_intervals import Extents, below, bounds_of
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Buffer, Const, Expr, Load, Ref, Role, Var
from ragged.ir.memory_scope import MemoryScope
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten, substitute
from ragged.ir.sites import Enclosing, Site
from ragged.ir.stmt import Alloc, For, Label, Let, LoopKind, Stmt, Store, block
from ragged.transform.mapping.work_sharing import split_allocations


def keep_on_chip(program: Program, buffer: Buffer) -> Rewritten:
    """Copy each worker's slice of a parameter to memory of its own, once, before all else that it does.

    before::

        for w in team(16):
            for b in serial(num_batches):
                barrier(team)
                first = w * 4
                for i_s in serial(4):
                    i = first + i_s
                    for n in parallel(batch_length(b)):
                        for j in serial(64):
                            x[n, i] += U[i, j] * h[n, j]

    after `keep_on_chip(program, U)`::

        for w in team(16):
            U_chip = local(float32[4, 64], scope=shared)
            first = w * 4
            for e in parallel(4 * 64):
                U_chip[e // 64, e % 64] = U[first + e // 64, e % 64]
            for b in serial(num_batches):
                barrier(team)
                first = w * 4
                for i_s in serial(4):
                    i = first + i_s
                    for n in parallel(batch_length(b)):
                        for j in serial(64):
                            x[n, i] += U_chip[i_s, j] * h[n, j]

    That is model persistence (CORTEX, section 7.3): the parameter is read from the device's memory once, however many
    batches there are. A slice is what `distribute_over_blocks` gave the worker: all that is read of one dimension is at
    `i * width` plus less than `width`, for shares of one loop's extent, the same wherever the buffer is read.

    Raises:
        ScheduleError: the kernel is no team's loop or writes the buffer; a read of it is not in such a slice, or not in
            the same one as another; or the buffer's extents are not numbers.
    """
    what = f"keep_on_chip: cannot keep '{buffer.name}'"
    check_known(program, buffer, "keep_on_chip")
    check_alone(program, buffer, "keep_on_chip")
    stage = program.stage(StageKind.KERNEL)
    assert stage is not None, "a verified program has a kernel"
    team = stage.body
    if not isinstance(team, For) or team.kind is not LoopKind.TEAM or not isinstance(team.extent, Const):
        raise ScheduleError(
            what, because="the kernel is no grid of blocks", fix="distribute_over_blocks first"
        )
    if buffer.role not in READ_ONLY or not all(isinstance(extent, Const) for extent in buffer.shape):
        raise ScheduleError(what, because="it is no parameter of constant extents")
    slices = _slices(Site(stage, team), buffer, bindings(program).below, what)
    chip = _Chip.of(buffer, slices, team, what)
    keep = _Keep(chip=chip, shares={each.share.index.var: each.share.loop.var for each in slices})
    held, rest = split_allocations(team)
    body: Stmt = Alloc(chip.local, block(chip.filled(), keep.stmt(rest)))
    for alloc in reversed(held):
        body = replace(alloc, body=body)
    body = replace(team, body=body)
    stages = tuple(replace(each, body=body) if each is stage else each for each in program.stages)
    return keep.finish(program, replace(program, stages=stages))


@dataclass(frozen=True, slots=True)
class _WorkerShare:
    """A worker's share of a loop: its first iteration, the loop over it, and the let of the original index."""

    begin: Let
    loop: For
    index: Let

    @property
    def count(self) -> Expr:
        """The number of iterations, with the let of the first one substituted."""
        return substitute(self.loop.extent, {self.begin.var: self.begin.value})


@dataclass(frozen=True, slots=True)
class _Slice:
    """What a read reaches: of dimension `dimension`, `width` places for each iteration of a share."""

    share: _WorkerShare
    dimension: int
    width: int

    @property
    def identity(self) -> tuple[Expr, Expr, int, int]:
        """What two slices have in common that are one."""
        return (self.share.begin.value, self.share.count, self.dimension, self.width)


def _slices(team: Site, buffer: Buffer, extents: Extents, what: str) -> list[_Slice]:
    """Return the slice that each read of the buffer in the team's loop is in."""
    found: list[_Slice] = []
    for use in uses_in(team, buffer):
        one = None if use.writes else _slice(use, extents)
        if one is None:
            text = expr_text(Load(buffer, use.indices))
            raise ScheduleError(
                what,
                because=f"{text} is {use.kind.value} where no share of a loop says which part of it is a worker's",
            )
        found.append(one)
    if not found:
        raise ScheduleError(what, because="the kernel does not read it")
    if len({each.identity for each in found}) > 1:
        raise ScheduleError(what, because="it is read in several slices, and workers keep one")
    return found


def _slice(use: BufferAccess, extents: Extents) -> _Slice | None:
    around = use.site.around
    for k, share in _shares(around):
        inner = Site(use.site.stage, use.site.stmt, around[k + 1 :])
        own = Ref(share.index.var)
        for dimension, index in enumerate(use.indices):
            place = affine(inner.expand(index))
            width = place.terms.get(own, 0)
            rest = place.plus(AffineForm({own: width}), -1)
            bounds = bounds_of(rest, below(extents))
            if width > 0 and bounds is not None and bounds[0] >= 0 and bounds[1] < width:
                return _Slice(share, dimension, width)
    return None


def _shares(around: Sequence[Enclosing]) -> Iterator[tuple[int, _WorkerShare]]:
    """Yield the shares around a place, and where in `around` the let of the index stands."""
    for k, (begin, loop, index) in enumerate(zip(around, around[1:], around[2:], strict=False)):
        match begin, loop, index:
            case Let(var=first), For(var=place), Let(value=value) if value == plus(Ref(first), Ref(place)):
                yield k + 2, _WorkerShare(begin, loop, index)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class _Chip:
    """A worker's slice of `whole` in memory of its own, `local`."""

    whole: Buffer
    local: Buffer
    slice: _Slice

    @classmethod
    def of(cls, buffer: Buffer, slices: Sequence[_Slice], team: For, what: str) -> _Chip:
        """Return the copy that does for all slices, which are one."""
        one = slices[0]
        total, most = _numbers(one.share, team)
        shape = [int(extent.value) for extent in buffer.shape if isinstance(extent, Const)]
        if total * one.width != shape[one.dimension]:
            raise ScheduleError(
                what,
                because=f"its {shape[one.dimension]} places of dimension {one.dimension} are not {one.width} for each "
                "iteration that is shared out",
            )
        shape[one.dimension] = most * one.width
        extents = tuple(map(Const, shape))
        return cls(
            buffer,
            Buffer(f"{buffer.name}_chip", buffer.dtype, extents, Role.LOCAL, scope=MemoryScope.SHARED),
            one,
        )

    def filled(self) -> Stmt:
        """Return the loop that copies the slice, whole rows of the worker's dimension one after another."""
        each, d = Var("e"), self.slice.dimension
        first = Var("first")
        others = [k for k in range(len(self.whole.shape)) if k != d]
        step, target = 1, dict[int, Expr]()
        for k in reversed(others):
            extent = self.whole.shape[k]
            assert isinstance(extent, Const)
            target[k] = modulo(floordiv(Ref(each), step), int(extent.value))
            step *= int(extent.value)
        row = floordiv(Ref(each), step)
        target[d] = row
        width = Const(self.slice.width)
        places = tuple(target[k] for k in range(len(self.whole.shape)))
        source = tuple(
            plus(times(Ref(first), width), row) if k == d else places[k] for k in range(len(places))
        )
        store = Store(Label(self.local.name), self.local, places, Load(self.whole, source))
        share = self.slice.share
        count = substitute(share.loop.extent, {share.begin.var: Ref(first)})
        extent = times(times(count, width), Const(step))
        return Let(first, share.begin.value, For(each, extent, store, LoopKind.PARALLEL))


def _numbers(share: _WorkerShare, team: For) -> tuple[int, int]:
    """Return how many iterations are shared out, and how many a worker has at most."""
    assert isinstance(team.extent, Const)
    blocks, begin = int(team.extent.value), share.begin.value
    match share.loop.extent, begin:
        case Const(value=each), _:
            return int(each) * blocks, int(each)
        case _, Binary(op=BinaryOp.FLOORDIV, lhs=lhs):
            total = affine(lhs).terms.get(Ref(team.var), 0)
            return total, -(-total // blocks)
        case _:
            return 0, 0


@dataclass
class _Keep(Rewriter):
    """Reads the copy in place of the whole; `shares` are the loops over shares by the indices that they stand for."""

    chip: _Chip = field(kw_only=True)
    shares: Mapping[Var, Var] = field(kw_only=True)
    values: dict[Var, Expr] = field(default_factory=dict)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement; what lets in a share stand for is known in it."""
        if isinstance(stmt, Let):
            place = self.shares.get(stmt.var)
            self.values[stmt.var] = Ref(place) if place is not None else substitute(stmt.value, self.values)
        return super().stmt(stmt)

    def access(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
        """Return where the copy has an element of the whole."""
        own, inner = super().access(buffer, indices)
        if buffer is not self.chip.whole:
            return own, inner
        places, d = list(inner), self.chip.slice.dimension
        places[d] = substitute(places[d], self.values)
        return self.chip.local, tuple(places)
