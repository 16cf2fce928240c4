"""Contractions with parameters in bfloat16: half of the bytes, and two products per instruction."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.analysis.buffers import is_matrix
from ragged.analysis.contractions import contractions
from ragged.analysis.matrix_nests import LANES
from ragged.errors import ScheduleError, UserError
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Load, Role
from ragged.ir.ops import BinaryOp, Combiner
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewritten
from ragged.ir.stmt import Label, Reduce
from ragged.ir.walk import leaves
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.pair_products import pair_products


@dataclass(frozen=True, slots=True)
class PairProductsBf16:
    """A pass that rounds the factors of all sums of products with a parameter; its notes are the log.

    What `pair_products` refuses stays in float32, with a note; a program of which all products do is refused. Comes
    before the schedule, for which sums of pairs are products too. For a matrix unit (`on_unit`) pairs
    and columns are as many as it takes at once.
    """

    on_unit: bool = False

    @property
    def __name__(self) -> str:
        return "pair_products_bf16"

    def __call__(self, program: Program) -> Rewritten:
        """Return the program that computes with pairs.

        Raises:
            UserError: it has sums of products with a matrix of parameters, and none of them can.
        """
        schedule = LoopSchedule(program, trusted=True)
        legal, refused = list[Label](), dict[Label, str]()
        products = _products(program)
        for contraction in contractions(program):
            if contraction.update not in products:
                continue
            try:
                pair_products(program, (contraction.update,))
                legal.append(contraction.update)
            except ScheduleError as refusal:
                refused[contraction.update] = refusal.because or refusal.what
        other = "it is no sum over one axis, or an extent around it is a size"
        kept = {each: refused.get(each, other) for each in products if each not in legal}
        if kept and not legal:
            name, because = next(iter(kept.items()))
            raise UserError(
                f"compile: precision='bf16' rounds no product of '{program.name}'",
                because=f"of '{name.name}': {because}",
                fix="precision='float32'; numbers as the extents of parameters, and sums over one axis, can be rounded",
            )
        if legal:
            further = (LANES,) if self.on_unit else ()
            schedule.apply(pair_products, tuple(legal), *further)
        notes = [f"# in float32: {update.name}: {because}" for update, because in kept.items()]
        return Rewritten(schedule.checked(), schedule.forwarding, (*notes, *schedule.log().splitlines()))


def _products(program: Program) -> list[Label]:
    """Return the sums of products with a matrix of parameters in the kernel."""
    found = []
    for leaf in leaves(program.kernel):
        match leaf:
            case Reduce(combiner=Combiner.SUM, value=Binary(op=BinaryOp.MUL, lhs=lhs, rhs=rhs)):
                if any(map(_is_parameter, (lhs, rhs))):
                    found.append(leaf.label)
            case _:
                pass
    return found


def _is_parameter(operand: object) -> bool:
    match operand:
        case Load(buffer=buffer):
            return buffer.role is Role.PARAMETER and buffer.dtype is DType.FLOAT32 and is_matrix(buffer)
        case _:
            return False
