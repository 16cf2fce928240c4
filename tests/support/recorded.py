"""A loop schedule that counts its steps and refusals, and knows which programs have to leave the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragged.errors import ScheduleError
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Const
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Forwarding, Rewriter, Rewritten
from ragged.ir.stmt import Label, Reduce, Stmt
from ragged.passes.fuse_multiply_add import fuse_multiply_add
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.code.pair_products import pair_products
from tests.support.tally import Tally


class Recorded(LoopSchedule):
    """A schedule that says what its steps must not change; if `reassociated`, they may change the order of sums."""

    def __init__(self, program: Program, tally: Tally | None = None) -> None:
        super().__init__(program)
        self.begin = program
        self.tally = Tally() if tally is None else tally
        self.reassociated = False
        self.roundings: list[tuple[Program, Sequence[Label], Program]] = []

    def apply(self, primitive: Callable[..., Rewritten], *args: Any, **kwargs: Any) -> Forwarding:  # type: ignore[override]
        old, name = self.program, primitive.__name__
        try:
            forwarding = super().apply(primitive, *args, **kwargs)
        except ScheduleError as refusal:
            self.tally.refuse(name, refusal)
            raise
        self.tally.accept(name)
        self.reassociated |= kwargs.get("reassociate", False)
        if primitive is pair_products:
            self.roundings.append((old, args[0], self.program))
        return forwarding

    def same_bits(self) -> Iterator[tuple[Program, Program, bool]]:
        """Yield pairs of programs that have to leave the same bits, and whether they do without `reassociated` only.

        A step that rounds the factors of sums is compared with a program that rounds them without pairs; as multiply-
        adds, both sum up one product after another.
        """
        begin = self.begin
        for before, updates, after in self.roundings:
            yield begin, before, True
            yield fuse_multiply_add(rounded(before, updates)).program, fuse_multiply_add(after).program, False
            begin = after
        yield begin, self.program, True


def rounded(program: Program, updates: Sequence[Label]) -> Program:
    """Return a program that rounds both factors of these sums to bfloat16."""
    return _Rounded(updates=frozenset(updates)).program(program).program


@dataclass
class _Rounded(Rewriter):
    updates: frozenset[Label] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Reduce) and stmt.label in self.updates and isinstance(stmt.value, Binary):
            zero = Const(0.0, DType.FLOAT32)
            pairs = (Binary(BinaryOp.PAIR, each, zero) for each in (stmt.value.lhs, stmt.value.rhs))
            return replace(stmt, value=Binary(BinaryOp.DOT, *pairs))
        return super().stmt(stmt)
