"""fuse_siblings: fuse two adjacent loops of equal extent into one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.analysis.dependence import Copies, find_conflict
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import Block, For, LoopKind, Stmt, block
from ragged.prove import holds
from ragged.transform.copy_stmts import Moved
from ragged.transform.legality import labelled, refuse, require_fixed, require_no_team
from ragged.transform.locate import follow, loop_site


def fuse_siblings(program: Program, first: Var, second: Var) -> Rewritten:
    """Make one loop of two that follow each other directly, one body after the other: the reverse of `fission`.

    before::

        for i in serial(256):
            t[i] = x[i]
        for j in serial(256):
            y[j] = tanh(t[j])

    after::

        for i in serial(256):
            t[i] = x[i]
            y[i] = tanh(t[i])

    The forwarding of both loops is the first.

    Raises:
        ScheduleError: the second loop does not follow the first directly; they are not proven to run equally often;
            they are of two kinds, or a team's; the first writes what the second's extent reads; or a later iteration
            of the first and an earlier one of the second are not proven to touch different elements.
    """
    what = f"fuse_siblings: cannot make one of the loops '{first.name}' and '{second.name}'"
    before, after = loop_site(program, first, "fuse_siblings"), loop_site(program, second, "fuse_siblings")
    one, other = before.stmt, after.stmt
    assert isinstance(one, For) and isinstance(other, For)
    if not follow(program, one, other):
        raise ScheduleError(what, because=f"'{second.name}' does not stand directly after '{first.name}'")
    require_no_team(one, what)
    if one.kind is not other.kind:
        raise ScheduleError(
            what,
            because=f"'{first.name}' is {one.kind.value} and '{second.name}' {other.kind.value}",
            fix="fuse_siblings first, then say how the loop runs",
        )
    require_fixed(one.body, (other.extent,), what)
    if one.extent != other.extent and not holds(
        program, before, Binary(BinaryOp.EQ, one.extent, other.extent)
    ):
        texts = f"{expr_text(one.extent)} times, the other {expr_text(other.extent)}"
        raise ScheduleError(what, because=f"one runs {texts}")
    _require_order(program, before, after, what)
    return _Jam(first=one, second=other).program(program)


def _require_order(program: Program, before: Site, after: Site, what: str) -> None:
    one, other = before.stmt, after.stmt
    assert isinstance(one, For) and isinstance(other, For)
    parts = BinaryOp.NE if one.kind is LoopKind.PARALLEL else BinaryOp.GT  # parallel: in whatever order

    def traded(first: Copies, second: Copies) -> tuple[Expr, ...]:
        return (Binary(parts, first[one.var], second[other.var]),)

    conflict = find_conflict(program, labelled(before), labelled(after), len(before.loops), traded)
    refuse(conflict, what)


@dataclass
class _Jam(Rewriter):
    """Puts the body of `second` after that of `first`, which stands right before it."""

    first: For = field(kw_only=True)
    second: For = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if stmt is self.first:
            one, other = self.first.var, self.second.var
            moved = Moved(values={other: Ref(one)}, axes={other: (one,)}).stmt(self.second.body)
            self.loop_copies.setdefault(other, []).append(one)
            return replace(self.first, body=block(self.first.body, moved))
        return Block() if stmt is self.second else super().stmt(stmt)
