"""Loops directly inside each other, with the lets and conditions between them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ragged.errors import ScheduleError
from ragged.ir.expr import Binary, Call, Const, Expr, Ref, Var
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Program
from ragged.ir.rewrite import substitute
from ragged.ir.sites import Site
from ragged.ir.stmt import Alloc, For, If, Let, Stmt
from ragged.transform.locate import loop_site


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops directly inside each other, outermost first, and the body of the innermost.

    `between` are the lets, and the conditions without an else, that stand between the loops, each with the number of
    the nest's loops around it. `site` is where the outermost loop stands.
    """

    site: Site
    loops: tuple[For, ...]
    between: tuple[tuple[int, Let | If], ...]
    body: Stmt

    def extent(self, depth: int) -> Expr:
        """Return the extent of the loop at `depth`, told without the lets between the loops."""
        return self._without_lets(self.loops[depth].extent, depth)

    @property
    def evaluated(self) -> tuple[Expr, ...]:
        """Every expression that stands between the loops, and their extents."""
        items = (item.value if isinstance(item, Let) else item.condition for _, item in self.between)
        return (*items, *(loop.extent for loop in self.loops))

    def _without_lets(self, expr: Expr, depth: int) -> Expr:
        for outside, item in reversed(self.between):
            if outside <= depth and isinstance(item, Let):
                expr = substitute(expr, {item.var: item.value})
        return expr


def find_nest(program: Program, loops: Collection[Var], what: str) -> Nest:
    """Return the nest that `loops`, in whatever order they are given, make.

    Raises:
        ScheduleError: one is not there, is named twice, or they are not directly inside each other; `what` is the
            refusal.
    """
    primitive = what.partition(":")[0]
    if len(set(loops)) < len(loops) or not loops:
        raise ScheduleError(what, because="each loop must be named once")
    site = min((loop_site(program, loop, primitive) for loop in loops), key=lambda site: len(site.around))
    found: list[For] = []
    between: list[tuple[int, Let | If]] = []
    stmt = site.stmt
    while len(found) < len(loops):
        match stmt:
            case For(var=var, body=body) if var in loops:
                found.append(stmt)
                stmt = body
            case Let(body=body) | If(then=body, orelse=None):
                between.append((len(found), stmt))
                stmt = body
            case _:
                raise _not_nested(found[-1], stmt, what)
    return Nest(site, tuple(found), tuple(between), stmt)


def is_total(expr: Expr, known: Collection[Expr] = ()) -> bool:
    """Return whether `expr` has a value wherever it is evaluated: it looks nothing up and divides by nothing.

    What is `known` has one.
    """
    match expr:
        case Const() | Ref():
            return True
        case Call(function=function):
            return function.is_size or expr in known
        case Binary(op=BinaryOp.FLOORDIV | BinaryOp.MOD, lhs=lhs, rhs=Const(value=value)):
            return value != 0 and is_total(lhs, known)
        case Binary(op=op, lhs=lhs, rhs=rhs):
            divides = op in (BinaryOp.FLOORDIV, BinaryOp.MOD)
            return not divides and is_total(lhs, known) and is_total(rhs, known)
        case _:
            return False


def _not_nested(outer: For, stmt: Stmt, what: str) -> ScheduleError:
    match stmt:
        case For(var=var):
            because = f"the loop '{var.name}' stands directly inside '{outer.var.name}'"
            fix = f"name '{var.name}' too, or fuse it first"
        case Alloc(buffer=buffer):
            because = f"'{buffer.name}' is new in each iteration of '{outer.var.name}'"
            fix = f"expand_storage first, so that '{buffer.name}' outlives the iteration"
        case _:
            because = f"'{outer.var.name}' holds more than one loop"
            fix = f"fission '{outer.var.name}' first"
    return ScheduleError(what, because=because, fix=fix)
