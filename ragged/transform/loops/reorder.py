"""reorder: loops directly inside each other, in another order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ragged.analysis.dependence import Copies, find_conflict
from ragged.arith.fold import ZERO
from ragged.errors import ScheduleError
from ragged.ir.build import both, within
from ragged.ir.dtype import DType
from ragged.ir.expr import Binary, Call, Const, Expr, Ref, Unary, Var
from ragged.ir.ops import BinaryOp, UnaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, If, LoopKind, Reduce, Stmt
from ragged.ir.walk import mentions, subexpressions
from ragged.prove import holds
from ragged.transform.legality import labelled, refuse, require_fixed, require_no_team
from ragged.transform.locate import Replace
from ragged.transform.loops.loop_nests import Nest, find_nest, is_total


def reorder(program: Program, loops: tuple[Var, ...], *, reassociate: bool = False) -> Rewritten:
    """Put loops that stand directly inside each other in the order of `loops`, outermost first.

    before::

        for n in serial(count):
            node = begin + n
            for i in serial(16):
                for j in serial(256):
                    t[node, i] += U[i, j] * v[node, j]

    after `reorder(program, (i, j, n), ...)`::

        for i in serial(16):
            for j in serial(256):
                for n in serial(count):
                    node = begin + n
                    t[node, i] += U[i, j] * v[node, j]

    Lets, and conditions without an else, may stand between the loops: each stays inside all loops that it was inside
    of. Every loop keeps its identity. The order of a reduction is that of its loops: to change it, which changes how it
    rounds, `reassociate` must be True. An order that a parallel loop leaves open is not kept.

    Raises:
        ScheduleError: the loops do not stand directly inside each other; an extent depends on a loop that would be
            inside, or may have no value outside of a condition; a team's loop is among them; a vectorized loop would
            not be innermost; what stands between is changed inside; or two iterations that would trade places are not
            proven to touch different elements.
    """
    what = f"reorder: cannot bring the loops into the order {', '.join(loop.name for loop in loops)}"
    nest = find_nest(program, loops, what)
    for loop in nest.loops:
        require_no_team(loop, what)
    order = tuple(next(depth for depth, loop in enumerate(nest.loops) if loop.var is var) for var in loops)
    _require_extents(program, nest, order, what)
    require_fixed(nest.body, nest.evaluated, what)
    if any(nest.loops[depth].kind is LoopKind.VECTORIZED for depth in order[:-1]):
        raise ScheduleError(
            what, because="a vectorized loop holds no loop", fix="reorder first, then vectorize"
        )
    _require_order(program, nest, order, reassociate, what)

    def change(found: For, owner: Rewriter) -> Stmt:
        return _built(nest, order)

    return Replace(loop=nest.loops[0].var, change=change).program(program)


def _require_extents(program: Program, nest: Nest, order: tuple[int, ...], what: str) -> None:
    """Raise if an extent cannot be evaluated where its loop would stand."""
    for place, depth in enumerate(order):
        loop, extent = nest.loops[depth], nest.extent(depth)
        text = f"how often '{loop.var.name}' runs, {expr_text(extent)},"
        inside = [nest.loops[inner].var for inner in order[place + 1 :]]
        for var in inside:
            if mentions(extent, (var,)):
                raise ScheduleError(what, because=f"{text} depends on '{var.name}'")
        guard = _guard_left(program, nest, order, depth)
        if guard is None:
            continue
        elements = {
            part for part in subexpressions(extent) if _is_element(program, nest, order[:place], part)
        }
        if not is_total(extent, elements):
            raise ScheduleError(what, because=f"{text} is known where {guard} alone")


def _guard_left(program: Program, nest: Nest, order: tuple[int, ...], depth: int) -> str | None:
    """Return what lets the loop at `depth` be reached, and would no longer stand around it."""
    place = order.index(depth)
    for outside, item in nest.between:
        if outside <= depth and isinstance(item, If) and _place(order, outside) > place:
            return expr_text(item.condition)
    for outer in range(depth):
        extent = nest.extent(outer)
        runs = Binary(BinaryOp.GT, extent, ZERO)
        if order.index(outer) > place and not holds(program, nest.site, runs):
            return expr_text(runs)
    return None


def _is_element(program: Program, nest: Nest, around: tuple[int, ...], expr: Expr) -> bool:
    """Return whether an expression is an element of a table wherever the nest's loops `around` run."""
    if not isinstance(expr, Call) or expr.function.body is not None:
        return False
    own, extents = [loop.var for loop in nest.loops], {nest.loops[n].var: nest.extent(n) for n in around}

    def is_inside(index: Expr, extent: Expr) -> bool:
        if mentions(index, own):
            return isinstance(index, Ref) and extents.get(index.var) == extent
        return holds(program, nest.site, within(index, ZERO, extent))

    pairs = zip(expr.args, expr.function.params, strict=True)
    return all(is_inside(arg, param.extent) for arg, param in pairs)


def _require_order(
    program: Program, nest: Nest, order: tuple[int, ...], reassociate: bool, what: str
) -> None:
    site = nest.site
    inside = labelled(site)
    after = tuple(nest.loops[depth] for depth in order)

    def traded(first: Copies, second: Copies) -> tuple[Expr, ...]:
        kept = Unary(UnaryOp.NOT, _before(after, first, second))
        return (_before(nest.loops, first, second), kept)

    common = len(site.loops)
    conflict = find_conflict(program, inside, inside, common, traded, reassociate=reassociate)
    if conflict is None:
        return
    only_rounding = find_conflict(program, inside, inside, common, traded, reassociate=True) is None
    fix = "reassociate=True, if the reduction may round in another way" if only_rounding else None
    refuse(conflict, what, fix)


def _before(loops: tuple[For, ...], first: Copies, second: Copies) -> Expr:
    """Return that the first iteration comes before the second: a parallel loop orders none of its own."""
    cases: Expr = Const(False, DType.BOOL)
    same: Expr | None = None
    for loop in loops:
        here, there = first[loop.var], second[loop.var]
        if loop.kind is not LoopKind.PARALLEL:
            less = Binary(BinaryOp.LT, here, there)
            cases = Binary(BinaryOp.OR, cases, less if same is None else both(same, less))
        same = both(same, Binary(BinaryOp.EQ, here, there))
    return cases


def _place(order: tuple[int, ...], outside: int) -> int:
    """Return how many loops of the new order are around what was inside the first `outside` of the old one."""
    return 1 + max(order.index(depth) for depth in range(outside))


def _built(nest: Nest, order: tuple[int, ...]) -> Stmt:
    """Return the nest in the new order."""
    variables = [nest.loops[depth].var for depth in order]
    stmt = _Axes(order=variables).stmt(nest.body)
    for place in reversed(range(len(order))):
        for outside, item in reversed(nest.between):
            if _place(order, outside) == place + 1:
                stmt = replace(item, then=stmt) if isinstance(item, If) else replace(item, body=stmt)
        depth = order[place]
        stmt = replace(nest.loops[depth], extent=nest.extent(depth), body=stmt)
    return stmt


@dataclass
class _Axes(Rewriter):
    """Names the loops that reductions reduce over in the new order."""

    order: list[Var] = field(kw_only=True)

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Reduce):
            moved = iter(sorted((a for a in stmt.axes if a in self.order), key=self.order.index))
            return replace(stmt, axes=tuple(next(moved) if a in self.order else a for a in stmt.axes))
        return super().stmt(stmt)
