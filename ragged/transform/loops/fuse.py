"""fuse: two loops, one directly inside the other, as one."""

from __future__ import annotations

from dataclasses import replace

from ragged.arith.fold import ZERO, at_least_zero, floordiv, modulo, times
from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.printer import expr_text
from ragged.ir.program import Program
from ragged.ir.rewrite import Rewriter, Rewritten
from ragged.ir.stmt import For, If, Let, Reduce, Stmt
from ragged.ir.walk import mentions, statements
from ragged.prove import holds
from ragged.transform.copy_stmts import Moved
from ragged.transform.legality import require_fixed, require_no_team
from ragged.transform.locate import Replace
from ragged.transform.loops.loop_nests import Nest, find_nest, is_total


def fuse(program: Program, outer: Var, inner: Var) -> Rewritten:
    """Make one loop of `outer` and of `inner` directly inside it; the order of iterations stays.

    before::

        for n in serial(count):
            node = begin + n
            for i in serial(16):
                x[node, i] = 0.0

    after::

        for n_i in serial(count * 16):
            n = n_i // 16
            node = begin + n
            i = n_i % 16
            x[node, i] = 0.0

    Lets, and conditions without an else, may stand between the loops. An inner extent that is not constant and may be
    negative is taken as `max(m, 0)`. The forwarding of both loops is the new one.

    Raises:
        ScheduleError: `inner` does not stand directly inside `outer`; its extent depends on `outer`, or is not known
            where `outer` does not run; the loops are of two kinds or a team's; a reduction goes over one of them
            alone; or what stands between them is changed inside.
    """
    what = f"fuse: cannot fuse the loops '{outer.name}' and '{inner.name}'"
    nest = find_nest(program, (outer, inner), what)
    _require_shape(program, nest, outer, what)
    require_fixed(nest.body, nest.evaluated, what)
    extent = nest.extent(1)
    if not holds(program, nest.site, Binary(BinaryOp.LE, ZERO, extent)):
        extent = at_least_zero(extent)

    def change(found: For, owner: Rewriter) -> Stmt:
        return _fused(nest, extent, owner)

    return Replace(loop=outer, change=change).program(program)


def _require_shape(program: Program, nest: Nest, outer: Var, what: str) -> None:
    first, second = nest.loops
    require_no_team(first, what)
    if first.var is not outer:
        raise ScheduleError(
            what, because=f"'{outer.name}' is the inner one", fix="name the outer loop first, or reorder them"
        )
    if first.kind is not second.kind:
        raise ScheduleError(
            what,
            because=f"'{first.var.name}' is {first.kind.value} and '{second.var.name}' {second.kind.value}",
            fix="fuse first, then say how the loop runs",
        )
    extent = nest.extent(1)
    text = f"how often '{second.var.name}' runs, {expr_text(extent)},"
    if mentions(extent, (outer,)):
        raise ScheduleError(what, because=f"{text} depends on '{outer.name}'")
    conditions = [item.condition for _, item in nest.between if isinstance(item, If)]
    runs = Binary(BinaryOp.GT, nest.extent(0), ZERO)
    if not is_total(extent) and (conditions or not holds(program, nest.site, runs)):
        where = expr_text(conditions[0] if conditions else runs)
        raise ScheduleError(what, because=f"{text} is known where {where} alone")
    for stmt in statements(nest.body):
        if isinstance(stmt, Reduce) and (first.var in stmt.axes) != (second.var in stmt.axes):
            raise ScheduleError(
                what, because=f"'{stmt.label.name}' reduces over one of them and not over the other"
            )


def _fused(nest: Nest, inner_extent: Expr, owner: Rewriter) -> Stmt:
    outer, inner = nest.loops
    fused = owner.copied_loop(outer.var, inner.var.name)
    owner.loop_copies.setdefault(inner.var, []).append(fused)
    body = Moved(axes={outer.var: (fused,), inner.var: ()}).stmt(nest.body)
    body = Let(inner.var, _remainder(Ref(fused), inner_extent), body, inner.at)
    for _, item in reversed(nest.between):
        body = replace(item, then=body) if isinstance(item, If) else replace(item, body=body)
    body = Let(outer.var, _quotient(Ref(fused), inner_extent), body, outer.at)
    return replace(outer, var=fused, extent=times(outer.extent, inner_extent), body=body)


def _quotient(index: Expr, by: Expr) -> Expr:
    if isinstance(by, Const) and int(by.value) > 0:
        return floordiv(index, int(by.value))
    return Binary(BinaryOp.FLOORDIV, index, by)


def _remainder(index: Expr, by: Expr) -> Expr:
    if isinstance(by, Const) and int(by.value) > 0:
        return modulo(index, int(by.value))
    return Binary(BinaryOp.MOD, index, by)
