"""Packing of an input as far as its columns reach: whole vectors that hold no column are not filled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragged.analysis.strides import is_consecutive
from ragged.arith.affine import divided
from ragged.arith.fold import floordiv, plus, times
from ragged.errors import ScheduleError
from ragged.ir.build import sub
from ragged.ir.expr import Binary, Const, Expr, Load, Ref, Role, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program, StageKind
from ragged.ir.sites import sites
from ragged.ir.stmt import For, LoopKind, Store
from ragged.machine import Machine
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.simplify_guards import simplify_guards
from ragged.transform.loops.partition_loop import partition_loop
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import split
from ragged.transform.loops.trim_loop import trim_loop


def trim_packing(schedule: LoopSchedule, machine: Machine) -> None:
    """Fill the last panel of a packed input up to the last vector with a column, where no other one is read.

    before::

        for p in serial((n + 63) // 64):
            for k in serial(64):
                for i in serial(64):
                    t[p, k, i] = x[p * 64 + i, k] if p * 64 + i < n else 0.0

    after::

        for p in serial((n + 63) // 64):
            for i_o in serial(min(n // 16 - p * 4, 4)):
                for k in serial(64):
                    for i_i in serial(16):
                        t[p, k, i_o * 16 + i_i] = x[p * 64 + (i_o * 16 + i_i), k]
            the last vector in the same way, x[...] if ... else 0.0, where not all of it are columns

    Whole vectors ask no condition. The loop over vectors stays innermost where columns are contiguous in the input;
    where rows are, squares of them are turned, and all ask it: two kinds of squares are more code for a few percent.
    What a primitive refuses is left as it is. Comes before `transpose_rows`, and after storage is contracted, which
    asks for tables that are filled.
    """
    for fill in list(_fills(schedule.program, machine.lanes(4))):
        before = schedule.checkpoint()
        try:
            _trim(schedule, fill, machine.lanes(4))
        except ScheduleError:
            schedule.restore(before)


@dataclass(frozen=True, slots=True)
class _Fill:
    """A nest that fills blocks of `panel` columns each, of which there are `count`.

    `along` is the loop directly around, if the input is contiguous along it, and not along the columns.
    """

    columns: Var
    block: Expr
    panel: int
    count: Expr
    along: Var | None


def _trim(schedule: LoopSchedule, fill: _Fill, lanes: int) -> None:
    vectors, lane = schedule.apply(split, fill.columns, lanes).loops[fill.columns][:2]
    most = Const(fill.panel // lanes)
    vectors_left = sub(floordiv(plus(fill.count, Const(lanes - 1)), lanes), times(fill.block, most))
    schedule.apply(trim_loop, vectors, Binary(BinaryOp.MIN, vectors_left, most))
    if fill.along is not None:
        schedule.apply(reorder, (vectors, fill.along, lane))
        return
    full = sub(floordiv(fill.count, lanes), times(fill.block, most))
    schedule.apply(partition_loop, vectors, Binary(BinaryOp.MIN, full, most))
    schedule.apply(simplify_guards, lane)


def _fills(program: Program, lanes: int) -> Iterator[_Fill]:
    """Yield the nests that fill panels of several vectors up to a number of columns that may end in any of them."""
    for site in sites(program):
        match site.stmt:
            case (
                For(
                    kind=LoopKind.SERIAL,
                    extent=Const(value=panel),
                    body=Store(
                        value=Select(
                            condition=Binary(op=BinaryOp.LT, lhs=place, rhs=count), if_true=Load() as load
                        )
                    ) as store,
                ) as loop
            ) if site.stage.kind is StageKind.KERNEL and panel > lanes and panel % lanes == 0:
                block, inside = divided(place, int(panel), {loop.var: int(panel)})
                last = store.indices[store.buffer.order[-1]]
                if store.buffer.role is not Role.WORKSPACE or not inside == last == Ref(loop.var):
                    continue
                around = site.loops[-1] if site.loops else None
                turned = around is not None and is_consecutive(load.buffer, load.indices, around.var)
                along = around.var if around is not None and turned and around.body is loop else None
                yield _Fill(loop.var, block, int(panel), count, along)
            case _:
                pass
