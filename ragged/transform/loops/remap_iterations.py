"""remap_iterations: a parallel loop's iterations in an order that each call chooses."""

from __future__ import annotations

from dataclasses import replace

from ragged.arith.fold import ZERO
from ragged.errors import ScheduleError
from ragged.ir.build import both, within
from ragged.ir.expr import Binary, Call, Expr, Function, Ref, Var
from ragged.ir.fact import Fact
from ragged.ir.facts import Injective
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import For, Let, LoopKind, Stmt
from ragged.passes.assume import assume
from ragged.prove import Unproven, answer
from ragged.transform.locate import Replace, loop_site


def remap_iterations(program: Program, loop: Var, function: Function) -> Rewritten:
    """Let iteration `i` of a parallel loop be what iteration `function(i)` was, for a permutation of its iterations.

    before::

        for n in parallel(rows):
            for k in serial(length(n)):
                y[offset(n) + k] = tanh(x[offset(n) + k])

    after `remap_iterations(program, n, order)`::

        for n_r in parallel(rows):
            n = order(n_r)
            for k in serial(length(n)):
                y[offset(n) + k] = tanh(x[offset(n) + k])

    With the longest rows first, none is left to one worker at the end; dealt out, the shares of a team are equal:
    CoRa's thread remapping policies. `declare_order` declares such a function, `ragged.runtime.orders` has policies.
    The prelude checks that the values are a permutation. The forwarding is the new loop.

    Raises:
        ScheduleError: there is no such loop, it is not parallel, or it is of the bind stage; `function` is not
            declared, has another number of parameters than one, or is not known to be injective; or it is not proven
            to be defined for all iterations and to give no other ones.
    """
    what = f"remap_iterations: cannot run loop '{loop.name}' in the order of '{function.name}'"
    site = loop_site(program, loop, "remap_iterations")
    old = site.stmt
    assert isinstance(old, For)
    if old.kind is not LoopKind.PARALLEL:
        raise ScheduleError(
            what,
            because=f"it is {old.kind.value}, and its own order counts",
            fix=f"parallel({loop.name}) first, if its iterations are independent",
        )
    if site.stage.kind is StageKind.BIND:
        raise ScheduleError(
            what, because="it runs when parameters are bound, and each call has its own order"
        )
    facts = _permutes(program, site, function, what)

    def change(found: For, owner: Rewriter) -> Stmt:
        place = owner.copied_loop(loop, "r")
        body = Let(loop, Call(function, (Ref(place),)), found.body, found.at)
        return replace(found, var=place, body=body)

    result = Replace(loop=loop, change=change).program(program)
    return replace(result, program=assume(result.program, facts))


def _permutes(program: Program, site: Site, function: Function, what: str) -> frozenset[Fact]:
    """Return the facts by which `function` permutes the iterations of the loop at `site`; or raise.

    Different iterations give different ones, and all of these are among as many: so they are all of them.
    """
    loop = site.stmt
    assert isinstance(loop, For)
    if function not in program.functions:
        raise ScheduleError(
            what,
            because=f"the program has no function '{function.name}'",
            fix="declare_order first, and name what it declared: `s.function(name)`",
        )
    if len(function.params) != 1:
        raise ScheduleError(what, because=f"'{function.name}' has {len(function.params)} parameters, not one")
    injective = Injective(function)
    if injective not in program.facts:
        raise ScheduleError(
            what,
            because=f"two iterations may be one: '{function.name}' is not known to be injective",
            fix="state the fact injective() of it",
        )
    inside = Site(site.stage, loop.body, (*site.around, loop))
    found = answer(program, inside, _stays_inside(function, loop))
    if isinstance(found, Unproven):
        raise ScheduleError(
            what,
            because=f"it is not proven that {expr_text(_stays_inside(function, loop))}",
            example=found.example,
        )
    return found.facts | {injective}


def _stays_inside(function: Function, loop: For) -> Expr:
    """Return that `function` is defined for an iteration of a loop, and gives another one of that loop."""
    here = Ref(loop.var)
    defined = Binary(BinaryOp.LT, here, function.params[0].extent)
    return both(defined, within(Call(function, (here,)), ZERO, loop.extent))
