"""balance_shares: let each call say where the workers' contiguous shares of a parallel loop begin."""

from __future__ import annotations

from dataclasses import replace

from ragged.analysis.buffers import check_free
from ragged.arith.fold import ONE, plus
from ragged.errors import ScheduleError
from ragged.ir.expr import Call, Function, Param, Source, Var
from ragged.ir.facts import Shares
from ragged.ir.printer import expr_text
from ragged.ir.program import Program, StageKind
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, LoopKind, Stmt
from ragged.ir.walk import reads_memory, variables
from ragged.passes.assume import assume
from ragged.transform.locate import Replace, loop_site


def balance_shares(program: Program, name: str, loop: Var) -> Rewritten:
    """Declare the function `name`, by which `distribute_over_team` gives a worker its share of a parallel loop.

    before::

        rows: input()

        for n in parallel(rows):
            for k in serial(length(n)):
                y[offset(n) + k] = 0.0

    after `balance_shares(program, "n_begin", n)`::

        rows: input()
        shares: call()
        n_begin: payload(p < shares + 1) = facts(shares(shares, rows))

        for n in parallel(n_begin(shares)):
            for k in serial(length(n)):
                y[offset(n) + k] = 0.0

    and after `distribute_over_team`::

        for w in team(workers):
            first = n_begin(w * shares // workers)
            for n_s in serial(n_begin((w + 1) * shares // workers) - first):
                n = first + n_s

    The caller of the program passes `shares`, as many as there are workers at most, and the values, int32:
    `ragged.runtime.orders.share_begins` makes some of equal work. All loops of a program have as many shares. The
    prelude checks that they are all iterations, each once. It is CoRa's load balancing (section 4.1) for workers with
    contiguous shares. The forwarding is the loop itself.

    Raises:
        ScheduleError: there is no such loop, it is not a parallel loop of a kernel, its extent is not known before the
            kernel, or `name` is taken.
    """
    what = f"balance_shares: cannot share out loop '{loop.name}' by '{name}'"
    site = loop_site(program, loop, "balance_shares")
    old = site.stmt
    assert isinstance(old, For)
    check_free(program, name, "balance_shares")
    if old.kind is not LoopKind.PARALLEL or site.stage.kind is not StageKind.KERNEL:
        raise ScheduleError(
            what,
            because=f"it is a {old.kind.value} loop of the {site.stage.kind.value}",
            fix="name a parallel loop of the kernel",
        )
    if variables(old.extent) or reads_memory(old.extent):
        raise ScheduleError(
            what,
            because=f"it runs {expr_text(old.extent)} times, which is known in the kernel alone",
            fix="name an outermost loop",
        )
    known = next((fact for fact in program.facts if isinstance(fact, Shares)), None)
    count = Function(program.free_name("shares"), (), Source.CALL) if known is None else known.count
    begin = Function(name, (Param(Var("p"), plus(Call(count), ONE)),), Source.PAYLOAD)
    fact = Shares(begin, count, old.extent)
    new = replace(
        program,
        functions=(*program.functions, *(() if known is not None else (count,)), begin),
        facts=(*program.facts, fact),
    )

    def change(found: For, owner: Rewriter) -> Stmt:
        return replace(found, extent=Call(begin, (Call(count),)))

    result = Replace(loop=loop, change=change).program(new)
    return replace(result, program=assume(result.program, {fact}))
