"""partition_loop: one loop as two, over the first and over the last of its iterations."""

from __future__ import annotations

from dataclasses import replace

from ragged.arith.affine import affine
from ragged.arith.fold import ZERO, at_least_zero, plus
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.fact import Fact
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.sites import Site
from ragged.ir.stmt import For, Stmt, block
from ragged.passes.assume import assume
from ragged.prove import Proof, answer
from ragged.transform.copy_stmts import Copier
from ragged.transform.index_checks import require_index
from ragged.transform.legality import require_fixed, require_no_lanes
from ragged.transform.locate import Replace, loop_site


def partition_loop(program: Program, loop: Var, at: Expr) -> Rewritten:
    """Cut a loop into one over the iterations before `at` and one over those from `at` on; their order stays.

    before::

        for b in serial(rows):
            for k in serial(n(b)):
                s[b] += x[b, k]

    after `partition_loop(program, k, n(b) // 8 * 8)`::

        for b in serial(rows):
            for k in serial(n(b) // 8 * 8):
                s[b] += x[b, k]
            for k_rest in serial(n(b) - n(b) // 8 * 8):
                s[b]: s.rest = reduce(sum, x[b, n(b) // 8 * 8 + k_rest], init=s[b])

    This is operation splitting (CoRa, sections 4.1 and 7.3). `at` is an index that is evaluated where the loop
    stands: it may use what is bound around the loop, look up functions there, and read what the loop does not write.
    Where it is not proven to be from 0 up to the loop's extent, its minimum with the extent and its maximum with 0
    stand for it. A reduction over the loop goes on in the second loop from what the first has left: its order stays.
    The facts by which something is proven are checked by the prelude. The forwarding is (loop, rest).

    Raises:
        ScheduleError: there is no such loop; it is vectorized or a team's; `at` is no index, names what is not there,
            or is not proven to have a value; or the loop writes what its extent or `at` reads.
    """
    what = f"partition_loop: cannot cut loop '{loop.name}'"
    site = loop_site(program, loop, "partition_loop")
    old = site.stmt
    assert isinstance(old, For)
    require_no_lanes(old, what, "partition_loop first")
    facts = require_index(program, site, at, old.extent, what)
    require_fixed(old, (old.extent, at), what)
    place, used = _within(program, site, at, old.extent)

    def change(found: For, owner: Rewriter) -> Stmt:
        return _cut(found, place, owner)

    result = Replace(loop=loop, change=change).program(program)
    return replace(result, program=assume(result.program, facts | used))


def _within(program: Program, site: Site, at: Expr, extent: Expr) -> tuple[Expr, frozenset[Fact]]:
    """Return `at` as the number of iterations before it, no less than none and no more than all; and by which facts."""
    if isinstance(at, Const) and isinstance(extent, Const):  # where nothing runs, all can be proven
        return Const(max(0, min(int(at.value), int(extent.value)))), frozenset()
    below = answer(program, site, Binary(BinaryOp.LE, at, extent))
    place, facts = (at, below.facts) if isinstance(below, Proof) else (_less(at, extent), frozenset[Fact]())
    above = answer(program, site, Binary(BinaryOp.LE, ZERO, place))
    return (place, facts | above.facts) if isinstance(above, Proof) else (at_least_zero(place), facts)


def _less(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(min(int(a.value), int(b.value)))
    return Binary(BinaryOp.MIN, a, b)


def _cut(old: For, place: Expr, owner: Rewriter) -> Stmt:
    rest = owner.copied_loop(old.var, "rest")
    copier = Copier(
        owner=owner,
        suffix="rest",
        variables={old.var: plus(place, Ref(rest))},
        axes={old.var: (rest,)},
        resumed=old.var,
    )
    after = replace(old, var=rest, extent=_difference(old.extent, place), body=copier.stmt(old.body))
    return block(replace(old, extent=place), after)


def _difference(a: Expr, b: Expr) -> Expr:
    """Return `a - b`, what both have in common left out."""
    return affine(Binary(BinaryOp.SUB, a, b)).expr
