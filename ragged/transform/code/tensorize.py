"""tensorize: compute bfloat16 contractions on the matrix unit of the processor."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.analysis.matrix_nests import LANES, TILES, matrix_nest
from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, LoopKind, Stmt
from ragged.transform.locate import the_loop


def tensorize(program: Program, loop: Var) -> Rewritten:
    """Run a nest of sums of products of pairs on the processor's matrix unit, as tiles of rows and columns.

    before::

        for n in serial(rows):
            for i in serial(64):
                y[n, i] = 0.0
                for j in serial(128):
                    y[n, i] += dot(W_packed[j, i], x_pairs[n, j])

    after::

        for n in tensorized(rows):
            for i in tensorized(64):
                y[n, i] = 0.0
                for j in tensorized(128):
                    y[n, i] += dot(W_packed[j, i], x_pairs[n, j])

    `loop` is the one over rows, of any extent; lets may stand in it, and further loops around the columns. The unit
    adds up the first products of sixteen pairs, and the second ones, each in their order, then both to the sum: the
    last bits of a float32 may be others than one pair after another gives.

    Raises:
        ScheduleError: there is no such loop, or it is not serial; what stands in it is no such nest, from zero, over
            columns and pairs by sixteens; or rows, columns or pairs are not even steps in memory.
    """
    old = the_loop(program, loop, "tensorize")
    what = f"tensorize: cannot tensorize loop '{loop.name}'"
    nest = matrix_nest(old)
    if isinstance(nest, str):
        raise ScheduleError(
            what, because=nest, fix=f"split columns by {LANES * TILES} or less, and pack what they read"
        )
    for each in nest.loops:
        if each.kind is not LoopKind.SERIAL:
            raise ScheduleError(what, because=f"the loop '{each.var.name}' is {each.kind.value}")
    return _Kinds(loops=frozenset(each.var for each in nest.loops)).program(program)


@dataclass
class _Kinds(Rewriter):
    loops: frozenset[Var] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        new = super().stmt(stmt)
        return (
            replace(new, kind=LoopKind.TENSORIZED) if isinstance(new, For) and new.var in self.loops else new
        )
