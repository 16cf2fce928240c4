"""Rolling buffers for batches: temporaries sized for the largest batch, and not for all nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ragged.arith.affine import affine
from ragged.errors import ScheduleError
from ragged.ir.build import add, sub
from ragged.ir.expr import Binary, Buffer, Call, Const, Expr, Ref, Role, Var
from ragged.ir.facts import PrefixSum, Range
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import substitute
from ragged.ir.sites import Site, sites
from ragged.ir.stmt import For, Let, LoopKind
from ragged.ir.walk import mentions, subexpressions
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.storage.rebase_storage import rebase_storage


@dataclass(frozen=True, slots=True)
class Batches:
    """A serial loop over batches, the `length` rows from `begin` on of one, and a size that bounds the length."""

    loop: Var
    begin: Expr
    length: Expr
    widest: Expr


def batches_of(program: Program) -> tuple[Batches, ...]:
    """Return the rows that parallel loops in serial ones go over, as far as facts bound how many these are."""
    found = (each for site in sites(program) for each in _rows(program, site))
    return tuple(dict.fromkeys(found))


def rebase_batches(
    schedule: LoopSchedule, batches: Sequence[Batches], dimension: int, leave: Collection[Buffer] = ()
) -> None:
    """Size each workspace with such rows in `dimension` for one batch, where `rebase_storage` does not refuse.

    The workspaces in `leave` stay as they are.
    """
    for each in batches:
        for candidate in _candidates(schedule.program, each, dimension, leave):
            with suppress(ScheduleError):
                schedule.apply(
                    rebase_storage, candidate, dimension, each.loop, each.begin, each.length, each.widest
                )


def _candidates(
    program: Program, rows: Batches, dimension: int, leave: Collection[Buffer]
) -> Iterator[Buffer]:
    for buffer in program.buffers:
        if buffer.role is not Role.WORKSPACE or dimension >= len(buffer.shape) or buffer in leave:
            continue
        extent = buffer.shape[dimension]
        if not isinstance(extent, Const) and extent != rows.widest:
            yield buffer


def _rows(program: Program, site: Site) -> Iterator[Batches]:
    inner = site.stmt
    if site.stage.kind is not StageKind.KERNEL or not isinstance(inner, For):
        return
    around = [
        loop for loop in site.loops if loop.kind is LoopKind.SERIAL and not isinstance(loop.extent, Const)
    ]
    if inner.kind is not LoopKind.PARALLEL or not around or not isinstance(inner.body, Let):
        return
    if not inner.body.value.dtype.is_int:
        return
    begin = affine(site.expand(inner.body.value)).plus(affine(Ref(inner.var)), -1).expr
    if mentions(begin, (inner.var,)):
        return
    rows = site.expand(inner.extent)
    if isinstance(rows, Binary) and rows.op is BinaryOp.MIN and isinstance(rows.rhs, Const):
        yield Batches(around[0].var, begin, rows, rows.rhs)
    for length, widest in _bounds(program, rows):
        yield Batches(around[0].var, begin, length, widest)
    for first, below in _below(program, begin, rows):
        for length, widest in _bounds(program, below):
            yield Batches(around[0].var, first, length, widest)


def _below(program: Program, begin: Expr, length: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Yield, for each dimension under rows that are stored one behind another, the first and how many there are."""
    for fact in program.facts:
        if isinstance(fact, PrefixSum):
            first, end = Call(fact.offset, (begin,)), Call(fact.offset, (add(begin, length),))
            yield first, sub(end, first)


def _bounds(program: Program, length: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Yield a length as a call of a function that a fact bounds, and each size in the bound."""
    arguments = {
        part.args for part in subexpressions(length) if isinstance(part, Call) and len(part.args) == 1
    }
    for fact in program.facts:
        if not isinstance(fact, Range) or len(fact.function.params) != 1:
            continue
        function, var = fact.function, fact.function.params[0].var
        for args in arguments:
            told = Call(function, args)
            meant = told if function.body is None else substitute(function.body, {var: args[0]})
            if meant == length:
                sizes = (part for part in subexpressions(fact.upper) if isinstance(part, Call))
                yield from ((told, size) for size in sizes if size.function.is_size)
