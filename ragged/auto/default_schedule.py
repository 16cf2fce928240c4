"""The schedule that a program gets where its user asks for none."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.auto.columns import share_columns
from ragged.auto.machine import Machine
from ragged.auto.tile_batches import tile_batches
from ragged.auto.tile_products import tile_products
from ragged.auto.vectorize_columns import vectorize_columns
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class ArrangeColumns:
    """A pass that arranges loops so that columns are shared out; its notes are the log of the steps."""

    machine: Machine

    @property
    def __name__(self) -> str:
        return "arrange_columns"

    def __call__(self, program: Program) -> Rewritten:
        """Return the arranged program. Comes first of what rewrites loops."""
        schedule = Schedule(program, trusted=True)
        share_columns(schedule, self.machine)
        return Rewritten(schedule.program, schedule.forwarding, tuple(schedule.log().splitlines()))


@dataclass(frozen=True, slots=True)
class DefaultSchedule:
    """A pass that schedules a program for one machine by public primitives; its notes are their log."""

    machine: Machine

    @property
    def __name__(self) -> str:
        return "default_schedule"

    def __call__(self, program: Program) -> Rewritten:
        """Return the scheduled program. Comes after `contract_storage` and before `fuse_multiply_add`."""
        schedule = Schedule(program, trusted=True)
        tile_batches(schedule)
        tile_products(schedule, self.machine)
        vectorize_columns(schedule, self.machine)
        return Rewritten(schedule.program, schedule.forwarding, tuple(schedule.log().splitlines()))
