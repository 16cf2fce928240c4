"""split: one loop as two, an outer one over blocks of iterations and an inner one over those of a block."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from ragged.arith.fold import ONE, ZERO, at_least_zero, floordiv, modulo, plus, times
from ragged.arith.index_intervals import at_most
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Ref, Select, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import For, If, LoopKind, Stmt, block
from ragged.prove import Unproven, answer, holds
from ragged.transform.copy_stmts import Copier, Moved
from ragged.transform.legality import require_fixed, require_independent, require_no_lanes
from ragged.transform.locate import Replace, loop_site, the_loop
from ragged.transform.repeatable import require_repeatable


class Tail(Enum):
    """What becomes of the iterations that do not fill a block.

    GUARD: the last block asks before each iteration. PEEL: a loop of their own after the others. SHORT: the last block
    has fewer. BALANCE: the last two blocks share them evenly: 9 iterations by 8 are 5 and 4. OVERLAP: the last block
    starts early enough to be full, and runs iterations of the block before again.
    """

    GUARD = "guard"
    PEEL = "peel"
    SHORT = "short"
    BALANCE = "balance"
    OVERLAP = "overlap"


def split(program: Program, loop: Var, factor: int, tail: Tail = Tail.GUARD) -> Rewritten:
    """Split a loop into blocks of `factor` iterations; the order of iterations stays.

    before::

        for i in serial(n):
            x[i] = 0.0

    after, with a guard::

        for i_o in serial((n + 7) // 8):
            for i_i in serial(8):
                if i_o * 8 + i_i < n:
                    x[i_o * 8 + i_i] = 0.0

    after, peeled::

        for i_o in serial(n // 8):
            for i_i in serial(8):
                x[i_o * 8 + i_i] = 0.0
        for i_t in serial(n % 8):
            x[n // 8 * 8 + i_t] = 0.0

    after, short::

        for i_o in serial((n + 7) // 8):
            for i_i in serial(min(n - i_o * 8, 8)):
                x[i_o * 8 + i_i] = 0.0

    after, balanced: the last block starts `((n - 1) % 8 + 9) // 2` iterations before the end::

        for i_o in serial((n + 7) // 8):
            for i_i in serial(select(i_o == (n + 7) // 8 - 1, n - begin, min(8, begin - i_o * 8))):
                x[min(i_o * 8, begin) + i_i] = 0.0

    after, overlapping, where n is 8 or more: DietCode's local padding, by rows that are there::

        for i_o in serial((n + 7) // 8):
            for i_i in serial(8):
                x[min(i_o * 8, n - 8) + i_i] = 0.0

    An extent that `factor` divides has no tail; where one that may be negative is peeled, `max(n, 0)` stands for it.
    With a guard, an extent of at most `factor`, as `min(n, 4)` by 4, is one block, whatever n is.
    The loop's forwarding is (outer, inner), and (outer, inner, tail) where a tail is peeled.

    Raises:
        ScheduleError: there is no such loop, the factor is no integer from 1 up, `tail` is no `Tail`, the loop is
            vectorized or a team's, or its iterations write what its extent reads. Of overlapping blocks: the loop is
            not serial, it is not proven to have `factor` iterations, or an iteration that runs again would do something
            else: see `require_repeatable`.
    """
    old = the_loop(program, loop, "split")
    if type(factor) is not int or not 1 <= factor < 2**63:
        raise ScheduleError(
            f"split: cannot split loop '{loop.name}' into blocks of {factor}", fix="a factor from 1 up"
        )
    if not isinstance(tail, Tail):
        raise ScheduleError(
            f"split: cannot split loop '{loop.name}': {tail!r} is no tail", fix="Tail.PEEL, or another `Tail`"
        )
    require_no_lanes(old, f"split: cannot split loop '{loop.name}'", "split first")

    require_fixed(old, (old.extent,), f"split: cannot split loop '{loop.name}'")
    if tail is Tail.OVERLAP and modulo(old.extent, factor) != ZERO:
        _require_overlap(program, loop_site(program, loop, "split"), factor)
    runs = old.extent if tail is not Tail.PEEL or _is_length(program, loop) else at_least_zero(old.extent)

    def change(found: For, owner: Rewriter) -> Stmt:
        return _split(replace(found, extent=runs), owner, factor, tail)

    return Replace(loop=loop, change=change).program(program)


def _require_overlap(program: Program, site: Site, factor: int) -> None:
    """Raise `ScheduleError` unless blocks of the loop at `site` may overlap."""
    loop = site.stmt
    assert isinstance(loop, For)
    what = f"split: cannot overlap blocks of loop '{loop.var.name}'"
    if loop.kind is not LoopKind.SERIAL:
        raise ScheduleError(
            what, because=f"it is {loop.kind.value}: two blocks would write one element at once"
        )
    require_repeatable(site, what)
    require_independent(program, site, what, "Tail.PEEL")
    empty = Binary(BinaryOp.LE, loop.extent, ZERO)
    found = answer(program, site, Binary(BinaryOp.OR, empty, Binary(BinaryOp.LE, Const(factor), loop.extent)))
    if isinstance(found, Unproven):
        raise ScheduleError(
            what,
            because=f"it is not proven to have {factor} iterations",
            example=found.example or None,
            fix=f"dispatch({loop.var.name}, ({factor},)) first: the loop itself has as many",
        )


def _is_length(program: Program, loop: Var) -> bool:
    """True if the loop's extent is known not to be negative: then its remainder is that of its iterations."""
    site = loop_site(program, loop, "split")
    assert isinstance(site.stmt, For)
    return holds(program, site, Binary(BinaryOp.LE, ZERO, site.stmt.extent))


def _split(old: For, owner: Rewriter, factor: int, tail: Tail) -> Stmt:
    outer, inner = owner.copied_loop(old.var, "o"), owner.copied_loop(old.var, "i")
    place = plus(times(Ref(outer), Const(factor)), Ref(inner))
    whole = modulo(old.extent, factor) == ZERO
    blocks = floordiv(
        old.extent if whole or tail is Tail.PEEL else plus(old.extent, Const(factor - 1)), factor
    )
    count: Expr = Const(factor)
    if not whole and tail is Tail.BALANCE:
        place, count = _balanced(old.extent, factor, blocks, outer, inner)
    elif not whole and tail is Tail.OVERLAP:
        start = Binary(BinaryOp.MIN, times(Ref(outer), Const(factor)), plus(old.extent, Const(-factor)))
        place = plus(start, Ref(inner))
    body = Moved(values={old.var: place}, axes={old.var: (outer, inner)}).stmt(old.body)
    if not whole and tail is Tail.GUARD:
        most = at_most(old.extent, {})
        blocks = blocks if most is None or most > factor else ONE
        body = If(Binary(BinaryOp.LT, place, old.extent), body)
    elif not whole and tail is Tail.SHORT:
        rest = Binary(BinaryOp.SUB, old.extent, times(Ref(outer), Const(factor)))
        count = Binary(BinaryOp.MIN, rest, count)
    main = replace(old, var=outer, extent=blocks, body=For(inner, count, body, old.kind, old.dim, old.at))
    return main if whole or tail is not Tail.PEEL else block(main, _peeled(old, owner, factor))


def _balanced(extent: Expr, factor: int, blocks: Expr, outer: Var, inner: Var) -> tuple[Expr, Expr]:
    """Return the place of an iteration and the length of its block where the last two blocks are as long, or nearly.

    The last block has half of what follows the full ones, rounded down; of a single block that is all.
    """
    last = modulo(
        plus(extent, Const(-1)), factor
    )  # iterations of the last block but one, if all others were full
    half = floordiv(plus(last, Const(factor + 1)), 2)
    begin = at_least_zero(Binary(BinaryOp.SUB, extent, half))
    start = times(Ref(outer), Const(factor))
    full = Binary(BinaryOp.MIN, Const(factor), Binary(BinaryOp.SUB, begin, start))
    is_last = Binary(BinaryOp.EQ, Ref(outer), plus(blocks, Const(-1)))
    count = Select(is_last, Binary(BinaryOp.SUB, extent, begin), full)
    return plus(Binary(BinaryOp.MIN, start, begin), Ref(inner)), count


def _peeled(old: For, owner: Rewriter, factor: int) -> Stmt:
    """Return the loop over the iterations after the last whole block."""
    rest = owner.copied_loop(old.var, "t")
    start = times(floordiv(old.extent, factor), Const(factor))
    place = plus(start, Ref(rest))
    copier = Copier(
        owner=owner, suffix="t", variables={old.var: place}, axes={old.var: (rest,)}, resumed=old.var
    )
    return replace(old, var=rest, extent=modulo(old.extent, factor), body=copier.stmt(old.body))
