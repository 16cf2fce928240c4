"""Temporaries of a batch with room for the widest batch, and not for all nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ragged.errors import ScheduleError
from ragged.ir.analysis import Site, sites
from ragged.ir.expr import Binary, Call, Const, Expr, Ref, Role, Var
from ragged.ir.facts import Range
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import substitute
from ragged.ir.stmt import For, Let, LoopKind
from ragged.ir.walk import subexpressions
from ragged.schedule.rebase_storage import rebase_storage
from ragged.schedule.schedule import Schedule


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


def rebase_batches(schedule: Schedule, batches: Sequence[Batches], dimension: int) -> None:
    """Give each workspace whose `dimension` has such rows room for those of one batch, where nothing refuses."""
    for each in batches:
        for buffer in schedule.program.buffers:
            fits = buffer.role is Role.WORKSPACE and dimension < len(buffer.shape)
            if (
                not fits
                or isinstance(buffer.shape[dimension], Const)
                or buffer.shape[dimension] == each.widest
            ):
                continue
            with suppress(ScheduleError):
                schedule.apply(
                    rebase_storage, buffer, dimension, each.loop, each.begin, each.length, each.widest
                )


def _rows(program: Program, site: Site) -> Iterator[Batches]:
    inner = site.stmt
    if site.stage.kind is not StageKind.KERNEL or not isinstance(inner, For):
        return
    around = [
        loop for loop in site.loops if loop.kind is LoopKind.SERIAL and not isinstance(loop.extent, Const)
    ]
    if inner.kind is not LoopKind.PARALLEL or not around or not isinstance(inner.body, Let):
        return
    match site.expand(inner.body.value):
        case Binary(op=BinaryOp.ADD, lhs=begin, rhs=Ref(var=var)) if var is inner.var:
            for length, widest in _bounds(program, site.expand(inner.extent)):
                yield Batches(around[0].var, begin, length, widest)


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
