"""Load balancing of a schedule's parallel loops: orders and shares by the work of each iteration."""

from __future__ import annotations

from dataclasses import dataclass

from ragged.analysis.loop_bodies import lets_of
from ragged.api.lower import LoweredOperators
from ragged.api.signature import Order, Policy, ShareTable
from ragged.api.values import ValueLike, as_index
from ragged.arith.fold import ZERO
from ragged.errors import ScheduleError
from ragged.ir.dtype import DType
from ragged.ir.expr import Expr, Function, Ref, Var
from ragged.ir.facts import Shares
from ragged.ir.printer import expr_text
from ragged.ir.rewrite import substitute, substitute_lets
from ragged.ir.sites import Site
from ragged.ir.stmt import For, Let
from ragged.ir.walk import variables
from ragged.layout.prelude import table_name
from ragged.schedule.loop_schedule import LoopSchedule
from ragged.transform.index_checks import require_index
from ragged.transform.locate import loop_site
from ragged.transform.loops.declare_order import declare_order
from ragged.transform.loops.remap_iterations import remap_iterations
from ragged.transform.mapping.balance_shares import balance_shares


@dataclass(frozen=True, slots=True)
class Balancing:
    """An array of the call, and the prelude's table of work that it is computed from."""

    array: Order | ShareTable
    table: Function


def remap(
    loops: LoopSchedule, lowered: LoweredOperators, loop: Var, work: ValueLike, policy: Policy
) -> tuple[Var, list[Balancing]]:
    """Run a loop in an order by work; return the new loop and the arrays of a call.

    Raises:
        ScheduleError: as `RaggedSchedule.remap`.
    """
    what = f"remap: cannot run loop '{loop.name}' in another order"
    before = loops.checkpoint()
    try:
        table = _table(loops, lowered, loop, work, what)
        name = loops.program.free_name(f"{loop.name}_order")
        loops.apply(declare_order, name, loop)
        made = loops.apply(remap_iterations, loop, loops.function(name)).loops[loop][0]
        found = [Balancing(Order(name, table_name(table), policy), table)]
        if policy is Policy.LONGEST_FIRST:
            found.append(balance(loops, lowered, made, work, what))
    except ScheduleError:
        loops.restore(before)
        raise
    return made, found


def balance(
    loops: LoopSchedule, lowered: LoweredOperators, loop: Var, work: ValueLike, what: str | None = None
) -> Balancing:
    """Share out a loop by work; return the array of a call. `what` is the refusal of another step.

    Raises:
        ScheduleError: as `RaggedSchedule.balance`.
    """
    table = _table(
        loops, lowered, loop, work, what or f"balance: cannot share out loop '{loop.name}' by work"
    )
    name = loops.program.free_name(f"{loop.name}_begin")
    loops.apply(balance_shares, name, loop)
    fact = next(each for each in loops.program.facts if isinstance(each, Shares) and each.begin.name == name)
    return Balancing(ShareTable(name, fact.count.name, table_name(table)), table)


def _table(loops: LoopSchedule, lowered: LoweredOperators, loop: Var, work: ValueLike, what: str) -> Function:
    """Return the prelude's table of the work of each iteration of a loop."""
    found = loop_site(loops.program, loop, what.partition(":")[0])
    assert isinstance(found.stmt, For)
    around, (lets, body) = (*found.around, found.stmt), lets_of(found.stmt.body)
    inside = Site(found.stage, body, (*around, *lets))
    bound = {outer.var for outer in (*around, *lets) if isinstance(outer, For | Let)}
    names: dict[Var, Expr] = {}
    for (tensor, position), var in lowered.loops.items():
        if var in bound and position < len(tensor.dims):
            names[tensor.dims[position].dim.var] = Ref(var)
    value = substitute(lowered.functions.expr(as_index(work, what).expr), names)
    require_index(loops.program, inside, value, ZERO, what)
    value = substitute_lets(value, lets)
    extent = found.stmt.extent
    if variables(value, extent) - {loop}:
        raise ScheduleError(
            what,
            because=f"loops around it change how often it runs, {expr_text(extent)} times, or its work, "
            f"{expr_text(value)}",
            fix="name an outermost loop, or fuse_loops with those around it first",
        )
    return lowered.functions.tables.values([(loop, extent)], value, extent, DType.INT64)
