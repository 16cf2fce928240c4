"""tile: the loops of a nest over blocks, and inside them the loops over those of a block."""

from __future__ import annotations

from ragged.errors import ScheduleError
from ragged.ir.expr import Var
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.transform.legality import stepwise
from ragged.transform.loops.loop_nests import find_nest
from ragged.transform.loops.reorder import reorder
from ragged.transform.loops.split import split


def tile(
    program: Program, loops: tuple[Var, ...], factors: tuple[int, ...], *, reassociate: bool = False
) -> Rewritten:
    """Split each of `loops`, which stand directly inside each other, and bring the loops over blocks outside.

    before::

        for n in serial(count):
            for i in serial(256):
                x[n, i] = 0.0

    after `tile(program, (n, i), (4, 16))`::

        for n_o in serial((count + 3) // 4):
            for i_o in serial(16):
                for n_i in serial(4):
                    if n_o * 4 + n_i < count:
                        for i_i in serial(16):
                            x[n_o * 4 + n_i, i_o * 16 + i_i] = 0.0

    `loops` are in the order that the loops over blocks get, outermost first. Each loop's forwarding is (outer, inner).

    Raises:
        ScheduleError: as many factors as loops are not given, or what `split` or `reorder` refuse.
    """
    what = f"tile: cannot tile the loops {', '.join(loop.name for loop in loops)}"
    if len(factors) != len(loops):
        raise ScheduleError(what, because=f"{len(loops)} loops have {len(factors)} factors")
    find_nest(program, loops, what)
    with stepwise(what):
        done = Rewriter().finish(program, program)
        for loop, factor in zip(loops, factors, strict=True):
            step = split(done.program, loop, factor)
            done = Rewritten(step.program, done.forwarding.then(step.forwarding))
        outer, inner = zip(*(done.forwarding.loops[loop] for loop in loops), strict=True)
        step = reorder(done.program, (*outer, *inner), reassociate=reassociate)
    return Rewritten(step.program, done.forwarding.then(step.forwarding))
