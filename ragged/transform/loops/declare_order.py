"""declare_order: declare a permutation of the iterations of a loop, given by each call."""

from __future__ import annotations

from dataclasses import replace

from ragged.analysis.buffers import check_free
from ragged.arith.fold import ZERO
from ragged.errors import ScheduleError
from ragged.ir.expr import Function, Param, Source, Var
from ragged.ir.facts import Injective, Range
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.walk import variables
from ragged.transform.locate import the_loop
from ragged.transform.loops.loop_nests import is_total


def declare_order(program: Program, name: str, loop: Var) -> Rewritten:
    """Declare the function `name`, a permutation of the iterations of a loop: what `remap_iterations` wants.

    before::

        rows: input()

    after `declare_order(program, "order", n)`, for a loop of `rows` iterations::

        rows: input()
        order: payload(n < rows) = facts(injective(), 0 <= order(n) < rows)

    The caller of the program passes its values, int32, one per iteration of the loop: `ragged.runtime.orders` makes
    some.

    Raises:
        ScheduleError: there is no such loop, its extent is more than numbers and sizes, or `name` is taken.
    """
    old = the_loop(program, loop, "declare_order")
    check_free(program, name, "declare_order")
    if not is_total(old.extent) or variables(old.extent):
        raise ScheduleError(
            f"declare_order: cannot declare '{name}', an order of loop '{loop.name}'",
            because=f"it runs {expr_text(old.extent)} times, which is known in the program alone",
            fix="order a loop with an extent of numbers and sizes",
        )
    order = Function(name, (Param(Var(loop.name), old.extent),), Source.PAYLOAD)
    facts = (*program.facts, Injective(order), Range(order, ZERO, old.extent))
    new = replace(program, functions=(*program.functions, order), facts=facts)
    return Rewriter().finish(program, new)
