"""serpentine_order: run a loop backwards in every second iteration of a loop around it."""

from __future__ import annotations

from dataclasses import replace

from ragged.arith.fold import ONE, ZERO
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Ref, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, Let, LoopKind, Reduce, Stmt
from ragged.ir.walk import leaves
from ragged.transform.legality import require_independent
from ragged.transform.locate import Replace, loop_site

_KINDS = (LoopKind.SERIAL, LoopKind.PARALLEL)


def serpentine_order(program: Program, loop: Var, around: Var) -> Rewritten:
    """Run a loop backwards in every second iteration of a serial loop around it.

    before::

        for b in serial(num_batches):
            for s in serial(4):
                for n in serial(batch_length(b)):
                    t[batch_begin(b) + n, s] = U[s] * x[batch_begin(b) + n]

    after `alternate(program, s, b)`::

        for b in serial(num_batches):
            for s_a in serial(4):
                s = s_a if b % 2 == 0 else 4 - 1 - s_a
                for n in serial(batch_length(b)):
                    t[batch_begin(b) + n, s] = U[s] * x[batch_begin(b) + n]

    Each iteration of `around` first reads the elements that the previous one read last, which are still cached: most of
    a table somewhat larger than a cache stays there, where a fixed order would evict it each time. `loop` is forwarded
    to the loop over `s_a`.

    Raises:
        ScheduleError: there is no such loop; one of them is neither serial nor parallel, or `around` not serial;
            `around` does not stand around the loop; a reduction goes over one of them; or two iterations are not proven
            to touch different elements.
    """
    what = f"serpentine_order: cannot turn loop '{loop.name}' around in every second iteration of '{around.name}'"
    site = loop_site(program, loop, "serpentine_order")
    old = site.stmt
    assert isinstance(old, For)
    outer = next((each for each in site.loops if each.var is around), None)
    if outer is None:
        raise ScheduleError(what, because=f"'{around.name}' is no loop around it")
    if old.kind not in _KINDS or outer.kind is not LoopKind.SERIAL:
        wrong, wanted = (outer, "serial") if old.kind in _KINDS else (old, "serial or parallel")
        raise ScheduleError(what, because=f"loop '{wrong.var.name}' is {wrong.kind.value}, not {wanted}")
    for leaf in leaves(old.body):
        axes = leaf.axes if isinstance(leaf, Reduce) else ()
        for axis in (axis for axis in (loop, around) if axis in axes):
            raise ScheduleError(
                what,
                because=f"'{leaf.label.name}' reduces over '{axis.name}', and the order of a sum is the model's",
            )
    require_independent(program, site, what)

    def change(found: For, owner: Rewriter) -> Stmt:
        place = owner.copied_loop(loop, "a")
        last = Binary(BinaryOp.SUB, found.extent, ONE)
        forwards = Binary(BinaryOp.EQ, Binary(BinaryOp.MOD, Ref(around), Const(2)), ZERO)
        turned = Select(forwards, Ref(place), Binary(BinaryOp.SUB, last, Ref(place)))
        return replace(found, var=place, body=Let(loop, turned, found.body, found.at))

    return Replace(loop=loop, change=change).program(program)
