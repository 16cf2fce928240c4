"""Contractions with parameters in bfloat16: half of the bytes, and two products per instruction."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.analysis.contractions import contractions
from ragged.errors import ScheduleError
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Label
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.pair_products import pair_products


@dataclass(frozen=True, slots=True)
class PairProductsBf16:
    """A pass that rounds the factors of all sums of products with a parameter; its notes are the log.

    What `pair_products` refuses stays in float32. Comes before the schedule, for which sums of pairs are products too.
    """

    @property
    def __name__(self) -> str:
        return "pair_products_bf16"

    def __call__(self, program: Program) -> Rewritten:
        """Return the program that computes with pairs."""
        schedule = LoopSchedule(program, trusted=True)
        updates = [contraction.update for contraction in contractions(program)]
        legal = tuple(update for update in updates if _is_legal(program, update))
        if legal:
            schedule.apply(pair_products, legal)
        return Rewritten(schedule.checked(), schedule.forwarding, tuple(schedule.log().splitlines()))


def _is_legal(program: Program, update: Label) -> bool:
    try:
        pair_products(program, (update,))
    except ScheduleError:
        return False
    return True
