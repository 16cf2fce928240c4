"""Whether a loop may run as vectors and mean what it means one iteration after another."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ragged.analysis.dependence import storage
from ragged.analysis.faults import is_lazy
from ragged.ir.expr import Binary, Call, Const, Expr, Load, Ref, Var
from ragged.ir.index import contents
from ragged.ir.ops import BinaryOp
from ragged.ir.program import Stage, StageKind
from ragged.ir.sites import Site, regions_of, sites_in
from ragged.ir.stmt import Alloc, Barrier, Check, For, If, Let, LoopKind, Prefetch, Stmt
from ragged.ir.walk import all_expressions, mentions, operands, reads_memory, statements


def can_vectorize(loop: For, certain: AbstractSet[Load] = frozenset()) -> bool:
    """Return whether `loop` may be made vector operations: each statement for all iterations at once.

    It may where no iteration touches what another one writes, and all take the same way, but for choices of what is
    `certain` to be there. Other loops, and those without a constant extent, are left to LLVM's vectorizer.
    """
    inside = list(statements(loop.body))
    plain = fills_lanes(loop) and all(_is_plain(stmt) for stmt in inside)
    return plain and _goes_one_way(loop, inside, certain) and is_independent(loop)


def fills_lanes(loop: For) -> bool:
    """Return whether a loop has a constant extent of several iterations."""
    return isinstance(loop.extent, Const) and loop.extent.value >= 2


def _is_plain(stmt: Stmt) -> bool:
    match stmt:
        case Alloc() | Check() | Barrier() | Prefetch():
            return False
        case For(kind=kind):
            return kind not in (LoopKind.TEAM, LoopKind.THREADS, LoopKind.VECTORIZED)
        case _:
            return True


def _goes_one_way(loop: For, inside: list[Stmt], certain: AbstractSet[Load]) -> bool:
    """Return whether nothing that decides what is run or evaluated differs between iterations."""
    lanes = {loop.var}
    for stmt in inside:  # in the order of the text: what a let stands for is known where it is used
        if isinstance(stmt, Let) and mentions(stmt.value, lanes):
            lanes.add(stmt.var)
    deciding = [
        stmt.extent if isinstance(stmt, For) else stmt.condition
        for stmt in inside
        if isinstance(stmt, For | If)
    ]
    lazy = (expr for expr in all_expressions(loop.body) if is_lazy(expr, certain))
    deciding += [part for expr in lazy for part in _deciding_operands(expr)]
    return not any(mentions(expr, lanes) for expr in deciding)


def _deciding_operands(lazy: Expr) -> tuple[Expr, ...]:
    """Return what a lazy expression's branch depends on: of a function's body, conservatively, all arguments."""
    return operands(lazy) if isinstance(lazy, Call) else operands(lazy)[:1]


def is_independent(loop: For) -> bool:
    """Return whether every access to a buffer that the loop writes is to an element of the iteration's own.

    So it is if all of them have the same indices, one of which is the loop's variable plus something invariant.
    """
    inside = list(regions_of(sites_in(Site(Stage(StageKind.KERNEL, loop.body), loop.body))))
    inner = set(contents(loop).loops)
    written = {storage(write.buffer): write for each in inside for write in each.writes}
    return all(
        _is_own(access.indices, loop.var, inner)
        and access.indices == first.indices
        and access.buffer is first.buffer
        for each in inside
        for access in (*each.writes, *each.reads)
        if (first := written.get(storage(access.buffer))) is not None
    )


def _is_own(indices: tuple[Expr, ...], var: Var, inner: set[Var]) -> bool:
    return any(_is_shift(index, var, inner) for index in indices)


def _is_shift(index: Expr, var: Var, inner: set[Var]) -> bool:
    match index:
        case Ref(var=name):
            return name is var
        case Binary(op=BinaryOp.ADD, lhs=lhs, rhs=rhs):
            return (_is_shift(lhs, var, inner) and _is_invariant(rhs, inner)) or (
                _is_shift(rhs, var, inner) and _is_invariant(lhs, inner)
            )
        case _:
            return False


def _is_invariant(expr: Expr, inner: set[Var]) -> bool:
    """Return whether `expr` is surely the same in all iterations; what is loaded may have been stored in one."""
    return not mentions(expr, inner) and not reads_memory(expr)
