"""The schedule that a program gets where its user asks for none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ragged.analysis.contractions import matrices, products, rows
from ragged.auto.columns import share_columns
from ragged.auto.fuse_child_loops import join_children
from ragged.auto.fuse_row_loops import jam_rows
from ragged.auto.fuse_slices import fuse_slices
from ragged.auto.options import DEFAULT, ScheduleOptions
from ragged.auto.order_storage import order_loops, order_storage
from ragged.auto.rebase_batches import batches_of, rebase_batches, rooms_of_shares
from ragged.auto.serpentine_columns import alternate_columns
from ragged.auto.tile_batches import tile_batches
from ragged.auto.tile_products import tile_products
from ragged.auto.tile_tables import tile_tables
from ragged.auto.transpose_rows import transpose_rows
from ragged.auto.vectorize_columns import vectorize_columns, vectorize_rows
from ragged.errors import ScheduleError
from ragged.ir.expr import Buffer, Var
from ragged.ir.program import Program
from ragged.ir.sites import sites
from ragged.ir.stmt import For
from ragged.ir.walk import written
from ragged.machine import Machine
from ragged.passes.contract_storage import contract_storage
from ragged.passes.serialize_loops import serialize_loops
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.schedule.result import ScheduleResult
from ragged.transform.mapping.distribute_over_team import distribute_over_team
from ragged.transform.storage.rolling_buffers import RollingBuffer

_MOST_ROOMS = 4
"""With so many workers, shares of rows have rooms. In each batch a share uses other rows of its room: of `n` rooms, as
many rows as (n + 1) / 2 have, so that for more workers a row for each of all batches' is less."""


@dataclass(frozen=True, slots=True)
class DefaultSchedule:
    """A pass that schedules a program for one machine by public primitives; its notes are their log.

    `options` are its numbers and switches; those that are not the default are comments before the log. `threads` is
    the most workers that will run the kernel. A program that cannot be shared out gets one, and a comment with the
    reason is the last of the notes.
    """

    machine: Machine
    threads: int = 1
    options: ScheduleOptions = DEFAULT

    def __post_init__(self) -> None:
        """Refuse options whose tiles need more registers than the machine has, with a `ScheduleError`."""
        self.options.check(self.machine)

    @property
    def __name__(self) -> str:
        return "default_schedule"

    def __call__(self, program: Program) -> ScheduleResult:
        """Return the scheduled program. Comes before `fuse_multiply_add`.

        First loops are arranged and shared out, while temporaries are materialised and loops still parallel; then
        storage is contracted, again once iterations of a worker follow each other; tiles come last. What proofs on the
        way assumed of data is checked in the prelude.
        """
        schedule = LoopSchedule(program, trusted=True)
        if self.options.per_node_matrices:
            order_storage(schedule)
            order_loops(schedule)
        columns = share_columns(schedule, self.machine, self.options, team=self.threads > 1)
        if self.options.per_node_matrices:
            fuse_slices(schedule)
        join_children(schedule)
        schedule.apply(contract_storage)
        wide = self._wide(schedule.program) if columns.sliced else None
        batches = batches_of(schedule.program) if self.options.rolling_buffers else ()
        rooms: tuple[RollingBuffer, ...] = ()
        if wide is not None and self.threads > 1:
            rooms = rooms_of_shares(schedule.program, batches, columns.own)
        leave = {*_written(schedule.program, columns.own), *(room.buffer for room in rooms)}
        if self.threads > _MOST_ROOMS:
            rooms = ()
        rebase_batches(schedule, batches, 0, leave)
        reason = share_out(schedule, self.threads, wide, columns.own, rooms)
        rebase_batches(schedule, batches, 1)  # what workers have copies of
        schedule.apply(contract_storage)
        if self.options.per_node_matrices:
            jam_rows(schedule, self.machine, self.options)
        if self.options.serpentine:
            alternate_columns(schedule)
        sums = {product.update for product in products(schedule.program)}
        transpose_rows(schedule, self.machine)
        vectorize_columns(schedule, self.machine, leave=sums)  # before there are copies of what it changes
        tile_batches(schedule, self.machine, self.options)
        tile_products(schedule, self.machine, self.options)
        tile_tables(schedule, self.machine, self.options)
        vectorize_columns(schedule, self.machine)  # what tiles have added
        vectorize_rows(schedule, self.machine)
        log = (*self.options.notes(), *schedule.log().splitlines())
        notes = (*log, *(() if reason is None else (f"# one worker: {reason}",)))
        return ScheduleResult(schedule.checked(), schedule.forwarding, notes, columns.sliced)

    def _wide(self, program: Program) -> int | None:
        """Return how many iterations of a batch for each worker make it wide; None where no number does."""
        weights = matrices(program)
        if weights > self.machine.l2_bytes:
            return None
        on_unit = self.options.on_unit(self.machine)
        return self.options.rows_per_worker(weights, rows(program) * self.threads, on_unit=on_unit)


def _written(program: Program, loops: Collection[Var]) -> frozenset[Buffer]:
    return frozenset(
        buffer
        for site in sites(program)
        if isinstance(site.stmt, For) and site.stmt.var in loops
        for buffer in written(site.stmt)
    )


def share_out(
    schedule: LoopSchedule,
    threads: int,
    wide: int | None = None,
    own: tuple[Var, ...] = (),
    rooms: tuple[RollingBuffer, ...] = (),
) -> str | None:
    """Share a kernel out to a team, or leave it to one worker; return the reason if more were asked for.

    `wide`, `own` and `rooms` are as in `distribute_over_team`.
    """
    reason = None
    if threads > 1:
        try:
            if rooms:
                schedule.apply(distribute_over_team, wide, own, rooms)
            elif own:
                schedule.apply(distribute_over_team, wide, own)
            else:
                schedule.apply(distribute_over_team, *(() if wide is None else (wide,)))
        except ScheduleError as refusal:
            reason = " ".join(str(refusal).split())
        else:
            return None
    schedule.apply(serialize_loops)
    return reason
